// SPDX-License-Identifier: GPL-2.0-or-later
/* compiler_code.h: the function that is told when the collector has done, and its neighbours. */
#include "tests/unit/unit.h"

#include <string.h>

#include "code/compiler_code.h"

/* Of .NET 8.0, 9.0, 10.0 and 11.0 as they are published, with what follows. */
static const uint8_t stores[][COLLECTOR_CODE_MAX] = {
	{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x85, 0xaf, 0x20, 0x00, 0x89,
	  0x30, 0x5d, 0xc3, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x7d },
	{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0xa5, 0xdd, 0x25, 0x00, 0x89,
	  0x30, 0x5d, 0xc3, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x9d },
	{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x75, 0xf4, 0x0d, 0x00, 0x89,
	  0x30, 0x5d, 0xc3, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x6d },
	{ 0x55, 0x48, 0x89, 0xe5, 0x89, 0x35, 0x96, 0xd3, 0x0c, 0x00, 0x5d, 0xc3,
	  0xcc, 0xcc, 0xcc, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0x83, 0x3d, 0x01, 0x03 },
};
/* One that loads such a word. */
static const uint8_t loads[COLLECTOR_CODE_MAX] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x6d,
						   0xc1, 0x3c, 0x00, 0x8b, 0x00, 0x5d, 0xc3, 0xcc,
						   0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41, 0x56 };

/* How long each is, and where it has the word's place. */
static const struct {
	size_t bytes;
	size_t displacement_at;
} forms[] = { { 15, 7 }, { 15, 7 }, { 15, 7 }, { 12, 6 } };

enum { DISPLACEMENT_BYTES = 4 };

UNIT_TEST(it_stores_its_argument)
{
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		assert_true(collector_code_stores(stores[i], sizeof(stores[i])));
		for (size_t size = 0; size < forms[i].bytes; size++)
			assert_false(collector_code_stores(stores[i], size));
		assert_true(collector_code_stores(stores[i], forms[i].bytes));
	}
	assert_false(collector_code_stores(loads, sizeof(loads)));
}

static void check_bits(size_t which)
{
	size_t at = forms[which].displacement_at;

	for (size_t bit = 0; bit < 8 * forms[which].bytes; bit++) {
		uint8_t code[COLLECTOR_CODE_MAX];

		memcpy(code, stores[which], sizeof(code));
		code[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_int_equal(collector_code_stores(code, sizeof(code)),
				 bit / 8 >= at && bit / 8 < at + DISPLACEMENT_BYTES);
	}
}

/* But for where the word lies. */
UNIT_TEST(each_bit_counts)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		check_bits(i);
}

int main(void)
{
	return unit_run(NULL, NULL);
}

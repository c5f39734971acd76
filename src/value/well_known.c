// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Structs of .NET that have a spelling of their own, and floating-point numbers. For print.c.
 *
 * Source of the formats: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/
 * {DateTime,DateTimeOffset,TimeSpan,Guid,Decimal,Int128}.cs.
 */
#include "value/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TICKS_PER_SECOND = 10 * 1000 * 1000,
	SECONDS_PER_DAY = 86400,
	DAYS_PER_400_YEARS = 146097,
	DECIMAL_SCALE_MAX = 28,
	DIGITS_MAX = 40,
};

#define TICKS_OF_DATE UINT64_C(0x3fffffffffffffff)
#define TICKS_MAX     UINT64_C(3155378975999999999)

static uint64_t number_at(const uint8_t *bytes, size_t offset, size_t size)
{
	uint64_t number = 0;

	for (size_t i = size; i-- > 0;)
		number = number << 8 | bytes[offset + i];
	return number;
}

static void add_time(struct text *out, uint64_t ticks)
{
	uint64_t seconds = ticks / TICKS_PER_SECOND % SECONDS_PER_DAY;

	text_add_number(out, seconds / 3600, 2, '0');
	text_add_char(out, ':');
	text_add_number(out, seconds / 60 % 60, 2, '0');
	text_add_char(out, ':');
	text_add_number(out, seconds % 60, 2, '0');
	if (ticks % TICKS_PER_SECOND) {
		text_add_char(out, '.');
		text_add_number(out, ticks % TICKS_PER_SECOND, 7, '0');
	}
}

/* Days since 0001-01-01, by eras of 400 years that begin in March. */
static void add_date(struct text *out, uint64_t days)
{
	uint64_t from_march = days + 306;
	uint64_t era = from_march / DAYS_PER_400_YEARS;
	uint64_t day = from_march % DAYS_PER_400_YEARS;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t of_year = day - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153;

	text_add_number(out, era * 400 + year + (month >= 10), 4, '0');
	text_add_char(out, '-');
	text_add_number(out, month < 10 ? month + 3 : month - 9, 2, '0');
	text_add_char(out, '-');
	text_add_number(out, of_year - (153 * month + 2) / 5 + 1, 2, '0');
}

static bool add_date_time(struct text *out, uint64_t ticks)
{
	if (ticks > TICKS_MAX)
		return false;
	add_date(out, ticks / TICKS_PER_SECOND / SECONDS_PER_DAY);
	text_add_char(out, 'T');
	add_time(out, ticks);
	return true;
}

/* The upper two bits: 0 no kind, 1 UTC, 2 and 3 local time. */
static bool print_date_time(struct text *out, const uint8_t *bytes)
{
	uint64_t data = number_at(bytes, 0, 8);

	if (!add_date_time(out, data & TICKS_OF_DATE))
		return false;
	if (data >> 62 == 1)
		text_add_char(out, 'Z');
	else if (data >> 62)
		text_add(out, " local");
	return true;
}

/* Minutes first, then the time in UTC. */
static bool print_date_time_offset(struct text *out, const uint8_t *bytes)
{
	int16_t minutes = (int16_t)number_at(bytes, 0, 2);
	uint64_t utc = number_at(bytes, 8, 8) & TICKS_OF_DATE;
	int64_t offset = (int64_t)minutes * 60 * TICKS_PER_SECOND;
	unsigned int off = (unsigned int)abs(minutes);

	if (utc > TICKS_MAX || off > 14 * 60 || (offset < 0 && utc < (uint64_t)-offset) ||
	    !add_date_time(out, utc + (uint64_t)offset))
		return false;
	text_printf(out, "%c%02u:%02u", minutes < 0 ? '-' : '+', off / 60, off % 60);
	return true;
}

static bool print_time_span(struct text *out, const uint8_t *bytes)
{
	uint64_t ticks = number_at(bytes, 0, 8);

	if ((int64_t)ticks < 0) {
		text_add_char(out, '-');
		ticks = -ticks;
	}
	if (ticks / TICKS_PER_SECOND >= SECONDS_PER_DAY) {
		text_add_number(out, ticks / TICKS_PER_SECOND / SECONDS_PER_DAY, 0, '0');
		text_add_char(out, '.');
	}
	add_time(out, ticks);
	return true;
}

static bool print_guid(struct text *out, const uint8_t *bytes)
{
	text_printf(out, "%08x-%04x-%04x-%02x%02x-", (uint32_t)number_at(bytes, 0, 4),
		    (uint32_t)number_at(bytes, 4, 2), (uint32_t)number_at(bytes, 6, 2), bytes[8],
		    bytes[9]);
	for (size_t i = 10; i < 16; i++)
		text_printf(out, "%02x", bytes[i]);
	return true;
}

/* Its digits, the last one at the end of @digits. */
static char *digits_of(unsigned __int128 number, char digits[DIGITS_MAX + 1])
{
	char *at = digits + DIGITS_MAX;

	*at = '\0';
	do
		*--at = (char)('0' + (int)(number % 10));
	while (number /= 10);
	return at;
}

static unsigned __int128 wide(uint64_t high, uint64_t low)
{
	return (unsigned __int128)high << 64 | low;
}

static bool print_decimal(struct text *out, const uint8_t *bytes)
{
	uint32_t flags = (uint32_t)number_at(bytes, 0, 4);
	unsigned int scale = flags >> 16 & 0xff;
	char digits[DIGITS_MAX + 1];
	char *at;

	if (scale > DECIMAL_SCALE_MAX || flags & 0x7f00ffff)
		return false;
	at = digits_of(wide(number_at(bytes, 4, 4), number_at(bytes, 8, 8)), digits);
	while (digits + DIGITS_MAX - at <= (ptrdiff_t)scale)
		*--at = '0';
	if (flags >> 31)
		text_add_char(out, '-');
	text_add_bytes(out, at, (size_t)(digits + DIGITS_MAX - scale - at));
	if (scale) {
		text_add_char(out, '.');
		text_add(out, digits + DIGITS_MAX - scale);
	}
	return true;
}

static bool print_int128(struct text *out, const uint8_t *bytes, bool is_signed)
{
	unsigned __int128 number = wide(number_at(bytes, 8, 8), number_at(bytes, 0, 8));
	char digits[DIGITS_MAX + 1];

	if (is_signed && (__int128)number < 0) {
		text_add_char(out, '-');
		number = -number;
	}
	text_add(out, digits_of(number, digits));
	return true;
}

bool print_well_known(struct text *out, enum value_well_known which, const uint8_t *bytes,
		      size_t size)
{
	switch (which) {
	case VALUE_DATE_TIME:
		return size == 8 && print_date_time(out, bytes);
	case VALUE_TIME_SPAN:
		return size == 8 && print_time_span(out, bytes);
	case VALUE_DATE_TIME_OFFSET:
		return size == 16 && print_date_time_offset(out, bytes);
	case VALUE_GUID:
		return size == 16 && print_guid(out, bytes);
	case VALUE_DECIMAL:
		return size == 16 && print_decimal(out, bytes);
	case VALUE_INT128:
	case VALUE_UINT128:
		return size == 16 && print_int128(out, bytes, which == VALUE_INT128);
	default:
		return false;
	}
}

/* With as few digits as give the same number again. */
static void add_shortest(char *to, size_t size, double number, bool is_single)
{
	for (int digits = is_single ? 6 : 15; digits <= 17; digits++) {
		snprintf(to, size, "%.*g", digits, number);
		if (is_single ? strtof(to, NULL) == (float)number : strtod(to, NULL) == number)
			return;
	}
}

void print_float(struct printer *printer, const uint8_t *bytes, size_t size)
{
	const char *quote = printer->json ? "\"" : "";
	char chars[40] = "";
	double number;
	float single;

	if (size == sizeof(single)) {
		memcpy(&single, bytes, sizeof(single));
		number = (double)single;
	} else {
		memcpy(&number, bytes, sizeof(number));
	}
	if (isnan(number)) {
		text_printf(printer->out, "%sNaN%s", quote, quote);
	} else if (isinf(number)) {
		text_printf(printer->out, "%s%sInfinity%s", quote, number < 0 ? "-" : "", quote);
	} else {
		add_shortest(chars, sizeof(chars), number, size == sizeof(single));
		text_add(printer->out, chars);
	}
}

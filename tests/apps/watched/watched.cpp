// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A native program that is given known values and writes down itself what its functions were given and gave back:
 * "KIND NUMBER THREADS" makes NUMBER calls of each function of the kind on each of THREADS threads, "worker-0" and so
 * on, or, if that is 0, on the main one; and is answered by "done KIND CALLS". FILE, its argument, then has one JSON array a call: the function, the arguments, the result.
 */
#include <atomic>
#include <cinttypes>
#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define KEEP __attribute__((noinline, noclone))

enum status { OPEN = 0, PAID = 7, LOST = -3 };
enum class color : uint8_t { red = 1, green = 200 };

struct customer {
	const char *name;
	int age;
};

struct order {
	int64_t number;
	const char *note;
	status state;
	bool urgent;
	uint16_t items;
	customer *of;
	customer within;
};

struct pair {
	int64_t first;
	int32_t second;
};

struct triple {
	int64_t a, b;
	uint32_t c;
};

struct measure {
	double value;
	int64_t count;
};

static std::mutex record_lock;
static FILE *record;
static std::atomic<uint64_t> calls;
static std::atomic<bool> released, entered;
static thread_local std::vector<std::string> lines;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
	char line[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	lines.emplace_back(line);
	calls++;
}

extern "C" {
KEEP int64_t watched_integers(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
			      int64_t g, uint64_t h)
{
	volatile int64_t sum =
		a + b + c + d + e + static_cast<int64_t>(f) + g + static_cast<int64_t>(h);

	return sum;
}

KEEP const char *watched_text(const char *text, char letter, bool yes)
{
	volatile char first = letter;

	return yes && first ? text : nullptr;
}

KEEP status watched_order(const order *order, status state, color shade)
{
	volatile int sum = static_cast<int>(shade);

	return order && sum ? order->state : state;
}

KEEP pair watched_pair(pair given, int more)
{
	return { given.first + more, given.second - more };
}

KEEP triple watched_triple(triple given, int more)
{
	return { given.b, given.a, given.c + static_cast<uint32_t>(more) };
}

KEEP int watched_floats(double x, int first, float y, long second, measure half)
{
	volatile double sum = x + static_cast<double>(y) + half.value;

	return first + static_cast<int>(second) + static_cast<int>(half.count) + (sum > 1e300);
}

KEEP int watched_depth(int depth)
{
	volatile int result = depth > 0 ? watched_depth(depth - 1) : 0;

	return result + depth;
}

KEEP void watched_jump(jmp_buf to, int depth)
{
	volatile int stay = depth;

	if (stay == 0)
		longjmp(to, 1);
	if (stay < 0)
		return;
	watched_jump(to, stay - 1);
	stay = 0;
}

KEEP int watched_wait(int number, const char *why)
{
	entered = true;
	while (!released)
		usleep(1000);
	return number + static_cast<int>(strlen(why));
}

KEEP int watched_last(int number, const char *why)
{
	return number + static_cast<int>(strlen(why));
}

/* Jumps there, which these two are compiled to; the second one at once. */
KEEP int watched_tail(int number, const char *why)
{
	return watched_last(number * 2 + 1, why);
}

KEEP int watched_straight(int number, const char *why)
{
	return watched_last(number, why);
}

/* The thread, and not the function, is what ends. */
KEEP int watched_leave(int number, const char *why)
{
	syscall(SYS_exit, 0);
	return number + static_cast<int>(strlen(why));
}

KEEP int watched_secret(int id, const char *password, const char *apiKey)
{
	volatile int sum = id + password[0] + apiKey[0];

	return sum;
}
}

KEEP int watched_reference(int &value, const std::string &text)
{
	value++;
	return value + static_cast<int>(text.size());
}

static const char *const texts[] = {
	"",
	"Ada",
	"Grüße, 世界",
	"quote \" and \\ back",
	"tab\tand\x01",
	"0123456789012345678901234567890123456789012345678901234567890123",
	"01234567890123456789012345678901234567890123456789012345678901234"
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

static void integers(int i)
{
	int64_t wide = static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ULL);
	auto a = static_cast<int8_t>(wide);
	auto b = static_cast<uint8_t>(wide >> 8);
	auto c = static_cast<int16_t>(wide >> 16);
	auto d = static_cast<uint16_t>(wide >> 24);
	auto e = static_cast<int32_t>(wide >> 8);
	auto f = static_cast<uint32_t>(wide >> 20);
	int64_t result = watched_integers(a, b, c, d, e, f, wide, static_cast<uint64_t>(i));

	note("[\"watched_integers\", [%d, %u, %d, %u, %d, %u, %" PRId64 ", %d], %" PRId64 "]", a, b,
	     c, d, e, f, wide, i, result);
}

/* Strings go by their number: the test has the same ones. */
static void text(int i)
{
	int which = i % (TEXTS + 1);
	char letter = static_cast<char>('a' + i % 26);
	const char *given = which < TEXTS ? texts[which] : nullptr;
	bool yes = i % 3 != 0;

	watched_text(given, letter, yes);
	note("[\"watched_text\", [{\"text\": %d}, \"%c\", %s], {\"text\": %d}]", which, letter,
	     yes ? "true" : "false", yes ? which : TEXTS);
}

static void one_order(int i)
{
	customer of = { texts[1], i };
	order given = { i * 1000000007L,	  texts[i % 3], i % 2 ? PAID : LOST, i % 5 == 0,
			static_cast<uint16_t>(i), &of,		{ texts[3], -i } };
	status result =
		watched_order(i % 7 ? &given : nullptr, OPEN, i % 2 ? color::red : color::green);

	if (i % 7)
		note("[\"watched_order\", [{\"number\": %ld, \"note\": {\"text\": %d}, \"state\": %d, \"urgent\": %s, "
		     "\"items\": %u, \"within\": {\"name\": {\"text\": 3}, \"age\": %d}}, 0, %d], %d]",
		     static_cast<long>(given.number), i % 3, given.state,
		     given.urgent ? "true" : "false", given.items, -i, i % 2 ? 1 : 200, result);
	else
		note("[\"watched_order\", [null, 0, %d], %d]", i % 2 ? 1 : 200, result);
}

static void structs(int i)
{
	pair two = watched_pair({ i * 3000000019L, -i }, i);
	triple three = watched_triple({ i, i * 5000000029L, static_cast<uint32_t>(i) }, 9);

	note("[\"watched_pair\", [{\"first\": %ld, \"second\": %d}, %d], {\"first\": %ld, \"second\": %d}]",
	     i * 3000000019L, -i, i, static_cast<long>(two.first), two.second);
	note("[\"watched_triple\", [{\"a\": %d, \"b\": %ld, \"c\": %d}, 9], {\"a\": %ld, \"b\": %ld, \"c\": %u}]",
	     i, i * 5000000029L, i, static_cast<long>(three.a), static_cast<long>(three.b),
	     three.c);
}

static void floats(int i)
{
	int result = watched_floats(i, i + 1, 2.5F, i + 2L, { 1.5, i + 3 });

	note("[\"watched_floats\", [{\"unavailable\": 0}, %d, {\"unavailable\": 1}, %d, {\"value\": {\"unavailable\": 2}, "
	     "\"count\": %d}], %d]",
	     i + 1, i + 2, i + 3, result);
}

static void reference(int i)
{
	std::string text = "x";
	int value = i, result = watched_reference(value, text);

	note("[\"watched_reference\", [%d, {\"any\": 0}], %d]", i, result);
}

static void depth(int i)
{
	int result = watched_depth(i % 10);

	(void)result;
	for (int d = i % 10, sum = 0, n = 0; n <= d; n++) {
		sum += n;
		note("[\"watched_depth\", [%d], %d]", n, sum);
	}
}

static void jump(int i)
{
	jmp_buf here;

	if (setjmp(here) == 0)
		watched_jump(here, i % 5);
	for (int n = 0; n <= i % 5; n++)
		note("[\"watched_jump\", [{\"any\": 0}, %d], {\"unwound\": 0}]", n);
}

/* At the end of one page, behind which there is none, and where there is nothing at all. */
static void faults(int i)
{
	static char *page = [] {
		auto *at = static_cast<char *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		munmap(at + 4096, 4096);
		memset(at, 'z', 4096);
		return at;
	}();
	const char *given = i % 2 ? page + 4090 : reinterpret_cast<const char *>(0x10);

	watched_text(given, 'f', true);
	note("[\"watched_text\", [{\"fault\": 0}, \"f\", true], {\"fault\": 0}]");
}

static void secret(int i)
{
	int result = watched_secret(i, "hunter2", "abc");

	note("[\"watched_secret\", [%d, {\"redacted\": 0}, {\"redacted\": 0}], %d]", i, result);
}

static void write_down()
{
	std::lock_guard<std::mutex> guard(record_lock);
	for (const auto &line : lines)
		fprintf(record, "%s\n", line.c_str());
	lines.clear();
}

static void leave(int i)
{
	note("[\"watched_leave\", [%d, {\"text\": 1}], {\"thread-ended\": 0}]", i);
	write_down();
	watched_leave(i, "Ada");
}

/* Far down the stack, so that whoever looks sees that it has been left. */
KEEP static void jump_from_afar(jmp_buf to)
{
	volatile char room[65536];

	room[0] = 0;
	watched_jump(to, room[0]);
	room[1] = 0;
}

/* Its thread makes no other call, at which it would be noticed. */
static void stray(int i)
{
	jmp_buf here;

	(void)i;
	if (setjmp(here) == 0)
		jump_from_afar(here);
	entered = true;
	/* Without ever waking up: where a thread that runs is on its stack is not known. */
	released.wait(false);
}

static void tail(int i)
{
	int result = watched_tail(i, "Ada");

	note("[\"watched_tail\", [%d, {\"text\": 1}], {\"tail-call\": 0}]", i);
	note("[\"watched_last\", [%d, {\"text\": 1}], %d]", i * 2 + 1, result);
	result = watched_straight(i, "Ada");
	note("[\"watched_straight\", [%d, {\"text\": 1}], {\"tail-call\": 0}]", i);
	note("[\"watched_last\", [%d, {\"text\": 1}], %d]", i, result);
}

static void wait_for_release(int i)
{
	int result = watched_wait(i, "long");

	note("[\"watched_wait\", [%d, {\"long\": 0}], %d]", i, result);
}

static const struct {
	const char *kind;
	void (*make)(int i);
} kinds[] = { { "integers", integers },
	      { "text", text },
	      { "order", one_order },
	      { "structs", structs },
	      { "floats", floats },
	      { "depth", depth },
	      { "jump", jump },
	      { "reference", reference },
	      { "faults", faults },
	      { "secret", secret },
	      { "leave", leave },
	      { "stray", stray },
	      { "tail", tail },
	      { "wait", wait_for_release } };

/* Those that a thread goes on after, and that are no calls of something special. */
static bool is_ordinary(void (*make)(int i))
{
	return make != faults && make != secret && make != wait_for_release && make != leave &&
	       make != stray && make != tail;
}

static void run(const std::string &kind, int number, int first)
{
	for (int i = 0; i < number; i++) {
		for (const auto &known : kinds) {
			bool named = kind == known.kind;

			if (named || (kind == "all" && is_ordinary(known.make)))
				known.make(first + i);
		}
	}
	write_down();
}

static void release()
{
	released = true;
	released.notify_all();
}

static void run_all(const std::string &kind, int number, int threads)
{
	std::vector<std::thread> all;

	calls = 0;
	if (threads == 0)
		run(kind, number, 0);
	for (int i = 0; i < threads; i++)
		all.emplace_back([&kind, number, i] {
			pthread_setname_np(pthread_self(), ("worker-" + std::to_string(i)).c_str());
			run(kind, number, i * number);
		});
	for (auto &thread : all)
		thread.join();
	fflush(record);
	printf("done %s %ju\n", kind.c_str(), static_cast<uintmax_t>(calls.load()));
}

int main(int argc, char **argv)
{
	std::vector<std::thread> waiting;
	char line[256], kind[32];
	int number, threads;

	record = argc > 1 ? fopen(argv[1], "we") : nullptr;
	if (!record)
		return 1;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	printf("ready %d\n", static_cast<int>(getpid()));
	/* Commands may follow FILE, instead. */
	for (int i = 2; i < argc; i++) {
		if (sscanf(argv[i], "%31s %d %d", kind, &number, &threads) == 3)
			run_all(kind, number, threads);
	}
	while (argc == 2 && fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "hold", 4) == 0 || strncmp(line, "stray", 5) == 0) {
			const char *what = line[0] == 'h' ? "wait" : "stray";

			waiting.emplace_back([what] { run(what, 1, 42); });
			while (!entered)
				usleep(1000);
			printf("held\n");
		} else if (strncmp(line, "release", 7) == 0) {
			release();
		} else if (sscanf(line, "%31s %d %d", kind, &number, &threads) == 3) {
			run_all(kind, number, threads);
		} else {
			break;
		}
	}
	release();
	for (auto &thread : waiting)
		thread.join();
	return 0;
}

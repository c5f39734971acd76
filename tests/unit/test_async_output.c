// SPDX-License-Identifier: GPL-2.0-or-later
/* Asynchronous calls as a whole, and what was counted of them, as text and as JSON. */
#include "unit.h"

#include "tests/unit/output_fixture.h"

static const struct options text = { .mode = MODE_WATCH };
static const struct options json = { .mode = MODE_WATCH, .format = FORMAT_JSON };

static const struct hit hit = {
	.time_ns = 2500,
	.pid = 4711,
	.tid = 4712,
	.comm = "worker",
	.method = "A::b(int32)",
	.duration_ns = 1500,
};

static void write_calls(struct output *output)
{
	struct output_async async = { .hit = &hit, .name = "A::b", .id = 7, .took_ns = 1500 };

	async.arguments = "[5]";
	output_async(output, &async);
	async.outcome = ASYNC_FAULTED;
	async.exception = "A\tB";
	async.arguments = NULL;
	async.why = "its beginning was lost";
	output_async(output, &async);
	async.outcome = ASYNC_CANCELED;
	async.exception = NULL;
	async.why = NULL;
	output_async(output, &async);
}

UNIT_TEST(calls)
{
	check(&text, write_calls,
	      "    0.000001  worker          4711/4712  A::b([5]) completed after 1.50 us [async]\n"
	      "    0.000001  worker          4711/4712  A::b(...) faulted by A?B after 1.50 us [async] "
	      "[no values: its beginning was lost]\n"
	      "    0.000001  worker          4711/4712  A::b() canceled after 1.50 us [async]\n");
	check_json(&json, write_calls,
		   "{'type':'async','time_ns':2500,'pid':4711,'tid':4712,'comm':'worker',"
		   "'method':'A::b(int32)','tier':null,'duration_ns':1500,'id':7,"
		   "'outcome':'completed','arguments':[5],'no_values':null,'exception':null}\n"
		   "{'type':'async','time_ns':2500,'pid':4711,'tid':4712,'comm':'worker',"
		   "'method':'A::b(int32)','tier':null,'duration_ns':1500,'id':7,"
		   "'outcome':'faulted','arguments':null,"
		   "'no_values':'its beginning was lost','exception':'A\\tB'}\n"
		   "{'type':'async','time_ns':2500,'pid':4711,'tid':4712,'comm':'worker',"
		   "'method':'A::b(int32)','tier':null,'duration_ns':1500,'id':7,"
		   "'outcome':'canceled','arguments':null,'no_values':null,'exception':null}\n");
}

static void write_totals(struct output *output)
{
	struct output_async_total total = {
		.method = "A::b(int32)",
		.started = 9,
		.synchronous = 2,
		.ended = { [ASYNC_COMPLETED] = 4, [ASYNC_FAULTED] = 3, [ASYNC_CANCELED] = 2 },
		.paired = 9,
		.open_known = true,
		.mean_ns = 2500,
	};

	output_async_total(output, &total);
	total.ended[ASYNC_CANCELED] = 1;
	total.open = 1;
	total.paired = 5;
	total.not_paired = 3;
	total.no_room = 6;
	total.mean_ns = 0;
	output_async_total(output, &total);
	total.open = 0;
	total.open_known = false;
	total.unknown = 8;
	output_async_total(output, &total);
}

UNIT_TEST(totals)
{
	check(&text, write_totals,
	      "A::b(int32): 9 started (2 synchronous), 4 completed, 3 faulted, 2 canceled, 0 open, "
	      "mean 2.50 us\n"
	      "A::b(int32): 9 started (2 synchronous), 4 completed, 3 faulted, 1 canceled, 1 open, "
	      "3 not-paired, 6 without room\n"
	      "A::b(int32): 9 started (2 synchronous), 4 completed, 3 faulted, 1 canceled, "
	      "3 not-paired, 8 steps of unknown outcome, 6 without room\n");
	check_json(&json, write_totals,
		   "{'type':'async_total','method':'A::b(int32)','started':9,"
		   "'synchronous':2,'completed':4,'faulted':3,'canceled':2,'paired':9,"
		   "'not_paired':0,'unknown_steps':0,'no_room':0,'open':0,'mean_ns':2500}\n"
		   "{'type':'async_total','method':'A::b(int32)','started':9,"
		   "'synchronous':2,'completed':4,'faulted':3,'canceled':1,'paired':5,"
		   "'not_paired':3,'unknown_steps':0,'no_room':6,'open':1,'mean_ns':null}\n"
		   "{'type':'async_total','method':'A::b(int32)','started':9,"
		   "'synchronous':2,'completed':4,'faulted':3,'canceled':1,'paired':5,"
		   "'not_paired':3,'unknown_steps':8,'no_room':6,'open':null,"
		   "'mean_ns':null}\n");
}

int main(void)
{
	return unit_run(NULL, NULL);
}

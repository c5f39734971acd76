# SPDX-License-Identifier: GPL-2.0-or-later
# mapparse/: a library and a command of its own. Included by the top Makefile, whose BUILD, CC,
# CLANG, CCACHE, Q, msg, WARNINGS, CFLAGS, SANITIZE, FUZZ_CFLAGS, FUZZ_BUILD_OPTIONS and VERSION it uses;
# it uses nothing of src/.
#
# make mapparse          build/libmapparse.a and build/mapparse
# make mapparse-tests    build/tests/mapparse/test_*
# make mapparse-fuzzers  build/tests/mapparse/fuzz_*   (corpora: mapparse/tests/corpus/NAME)
# make mapparse-benches  build/tests/mapparse/bench_*
# Tests and benchmarks are run from the top of the tree.

.PHONY: mapparse mapparse-tests mapparse-fuzzers mapparse-benches

MAPPARSE_CPPFLAGS := -D_GNU_SOURCE -DPLACE_PROBE_VERSION='"$(VERSION)"' -I.
MAPPARSE_CFLAGS = -std=gnu11 $(WARNINGS) $(SANITIZE) $(CFLAGS)
MAPPARSE_PROGRAM := mapparse/main.c mapparse/output.c
MAPPARSE_SOURCES := $(filter-out $(MAPPARSE_PROGRAM),$(sort $(wildcard mapparse/*.c)))
# Objects cannot lie in build/mapparse, which is the command.
MAPPARSE_OBJECTS := $(MAPPARSE_SOURCES:mapparse/%.c=$(BUILD)/libmapparse/%.o)
MAPPARSE_PROGRAM_OBJECTS := $(MAPPARSE_PROGRAM:mapparse/%.c=$(BUILD)/libmapparse/%.o)
MAPPARSE_LIBRARY := $(BUILD)/libmapparse.a
MAPPARSE_COMMAND := $(BUILD)/mapparse
MAPPARSE_TESTS := $(patsubst mapparse/tests/%.c,$(BUILD)/tests/mapparse/%,$(sort $(wildcard mapparse/tests/test_*.c)))
MAPPARSE_FUZZERS := $(patsubst mapparse/tests/%.c,$(BUILD)/tests/mapparse/%,$(sort $(wildcard mapparse/tests/fuzz_*.c)))
MAPPARSE_BENCHES := $(patsubst mapparse/tests/%.c,$(BUILD)/tests/mapparse/%,$(sort $(wildcard mapparse/tests/bench_*.c)))

mapparse: $(MAPPARSE_LIBRARY) $(MAPPARSE_COMMAND)
mapparse-tests: $(MAPPARSE_TESTS)
mapparse-fuzzers: $(MAPPARSE_FUZZERS)
mapparse-benches: $(MAPPARSE_BENCHES)

$(BUILD)/libmapparse/%.o: mapparse/%.c mapparse/mapparse.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(MAPPARSE_CPPFLAGS) $(MAPPARSE_CFLAGS) -MMD -MP -c $< -o $@

$(MAPPARSE_LIBRARY): $(MAPPARSE_OBJECTS)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(MAPPARSE_COMMAND): $(MAPPARSE_PROGRAM_OBJECTS) $(MAPPARSE_LIBRARY)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(MAPPARSE_CFLAGS) $(LDFLAGS) $^ -ljson-c -o $@

# Objects on their own, for a compiler cache keeps nothing else.
$(BUILD)/tests/mapparse/%.o: mapparse/tests/%.c mapparse/mapparse.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(MAPPARSE_CPPFLAGS) $(MAPPARSE_CFLAGS) -MMD -MP -c $< -o $@

$(MAPPARSE_TESTS) $(MAPPARSE_BENCHES): $(BUILD)/tests/mapparse/%: $(BUILD)/tests/mapparse/%.o $(MAPPARSE_LIBRARY)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(MAPPARSE_CFLAGS) $< $(MAPPARSE_LIBRARY) -lcmocka -o $@

# The library once more, with coverage feedback.
MAPPARSE_FUZZ_LIBRARY := $(BUILD)/fuzz/libmapparse.a
$(MAPPARSE_FUZZ_LIBRARY): $(MAPPARSE_SOURCES) Makefile mapparse/mapparse.mk $(wildcard mapparse/*.h)
	$(Q)$(MAKE) --no-print-directory $(FUZZ_BUILD_OPTIONS) $@

$(MAPPARSE_FUZZERS:=.o): $(BUILD)/tests/mapparse/%.o: mapparse/tests/%.c mapparse/mapparse.mk
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CLANG) $(MAPPARSE_CPPFLAGS) -std=gnu11 $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@

$(MAPPARSE_FUZZERS): $(BUILD)/tests/mapparse/%: $(BUILD)/tests/mapparse/%.o $(MAPPARSE_FUZZ_LIBRARY)
	$(call msg,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) $< $(MAPPARSE_FUZZ_LIBRARY) -o $@

-include $(MAPPARSE_OBJECTS:.o=.d) $(MAPPARSE_PROGRAM_OBJECTS:.o=.d) $(MAPPARSE_TESTS:=.d) \
	$(MAPPARSE_FUZZERS:=.d) $(MAPPARSE_BENCHES:=.d)

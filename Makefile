# SPDX-License-Identifier: GPL-2.0-or-later
# make            place-probe and mapparse   make check          every test (installs what is missing)
# make demo       see it work                make check-kernels  the BPF parts on other kernels, in qemu
#                                            make check-all      all that, in full: before an issue is closed
# make lint       formatting and analysis    make asan, tsan     build/asan/place-probe, build/tsan/...
# make arch-check a part of that: all but arch/ compiles for another machine
# make install    DESTDIR= PREFIX=; make deb make fuzz, bench    long runs; so is make soak SOAK_SECONDS=3600
# make clean      build/                     make clean-cache    what the tests keep outside the tree
# V=1 shows the commands.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
SANITIZE ?=

# make's own default is cc, which Debian's gcc package alone does not bring.
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
# What runs compilers, such as ccache; tests/cache.sh sets it.
CCACHE ?=
PROTOC_C ?= protoc-c
BPFTOOL ?= $(firstword $(shell command -v bpftool 2>/dev/null) /usr/sbin/bpftool)
PYTHON ?= /usr/bin/python3
MULTIARCH := $(shell $(CC) -print-multiarch)

WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	    -Wpointer-arith -Wwrite-strings -Werror
CPPFLAGS += -D_GNU_SOURCE -DPLACE_PROBE_VERSION='"$(VERSION)"' -Isrc -I. -isystem $(BUILD)
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(WARNINGS) -fno-strict-aliasing $(SANITIZE) $(CFLAGS)
LDLIBS += -lbpf -ldw -lelf -llzma -lz -lzstd -lpcre2-8 -ljson-c -lprotobuf-c -lcap-ng \
	  -lZydis -lncursesw -ltinfo -liberty -lpthread -lm

# Wherever the tree lies, the objects, and with them the skeletons, are the same.
BPF_CFLAGS := -O2 -g -fdebug-compilation-dir=. -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
	      -I. -I/usr/include/$(MULTIARCH) \
	      -Wall -Wextra -Werror -Wno-unused-parameter

SOURCES := $(sort $(shell find src -name "*.c"))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(patsubst src/%.proto,$(BUILD)/src/%.pb-c.o,$(wildcard src/*/*.proto))
LIBRARY := $(BUILD)/libplace.a
# What protobuf-c makes of descriptions of messages.
MESSAGES := $(patsubst %.proto,$(BUILD)/%.pb-c.h,$(wildcard src/*/*.proto))
SKELETONS := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/*.c))
# What the tests probe, as each compiler makes it.
NATIVE_APPS := $(BUILD)/tests/apps/stacks-gcc $(BUILD)/tests/apps/stacks-clang
TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c))

ifeq ($(V),1)
Q :=
msg :=
else
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(patsubst $(CURDIR)/%,%,$(2))";
endif

# What takes all the machine has: the long targets.
JOBS ?= -j$(shell nproc)

BASH_COMPLETION := share/bash-completion/completions/place-probe
ZSH_COMPLETION := share/zsh/vendor-completions/_place-probe

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean clean-cache install uninstall asan tsan lint arch-check format setup unit unit-of-kernel fuzzers benches tools \
	demo check check-kernels check-both check-both-full check-all check-full check-sanitized \
	fuzz bench soak deb

# What links programs of tests, of which there are many: it takes two thirds of the usual one's time, as mold does.
TEST_LINKER := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# How fuzzers are compiled and linked, and the libraries that they are linked with.
FUZZ_SANITIZE := address,undefined -fno-sanitize-recover=undefined
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,$(FUZZ_SANITIZE)
FUZZ_BUILD_OPTIONS = BUILD=$(BUILD)/fuzz CC=$(CLANG) CFLAGS="-O1 -g" \
	SANITIZE="-fsanitize=fuzzer-no-link,$(FUZZ_SANITIZE)"

all: $(BUILD)/place-probe mapparse
	@:

include mapparse/mapparse.mk

# The library of map formats is part of ours: whatever links one links the other.
LIBRARIES = $(LIBRARY) $(MAPPARSE_LIBRARY)

# A COMMAND is a child of ours until it is executed: the dynamic loader, which may be probed, has no more work by then.
$(BUILD)/place-probe: $(BUILD)/src/main.o $(LIBRARIES)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,-z,now $^ $(LDLIBS) -o $@

$(LIBRARY): $(filter-out $(BUILD)/src/main.o $(BUILD)/src/inject/program/main.o,$(OBJECTS))
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile | $(SKELETONS) $(MESSAGES)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# What place-probe has in it to stop a thread of its target (docs/safety.md). It needs no other file, is never
# sanitized, and is made of no more than this.
INJECTOR := $(BUILD)/place-probe-inject
INJECTOR_OBJECTS := $(patsubst src/%.c,$(BUILD)/injector/%.o,$(wildcard src/inject/program/*.c) \
	src/arch/x86_64/injection_x86.c src/target/maps_row.c src/target/proc.c)

$(BUILD)/injector/%.o: src/%.c Makefile
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) -std=gnu11 $(WARNINGS) -fno-strict-aliasing -O2 -g -MMD -MP -c $< -o $@

$(INJECTOR): $(INJECTOR_OBJECTS)
	$(call msg,LINK,$@)
	$(Q)$(CC) -static -s -Wl,-z,now,-z,noexecstack $^ -o $@

$(BUILD)/src/inject/start.o: CPPFLAGS += -DINJECTOR_PROGRAM='"$(INJECTOR)"'
$(BUILD)/src/inject/start.o: $(INJECTOR)

# The page of --flame, but for its data: ours, and packages of npm that package-lock.json pins.
PAGE := $(BUILD)/page/top.html
PAGE_SOURCES := $(wildcard src/output/page/*)
$(BUILD)/page/packages: src/output/page/fetch src/output/page/package-lock.json
	$(call msg,NPM,$@)
	$(Q)src/output/page/fetch $@
	$(Q)touch $@

$(PAGE): $(PAGE_SOURCES) $(BUILD)/page/packages
	$(call msg,PAGE,$@)
	$(Q)src/output/page/assemble $(BUILD)/page/packages > $@

$(BUILD)/src/output/flame.o: CPPFLAGS += -DFLAME_PAGE='"$(PAGE)"'
$(BUILD)/src/output/flame.o: $(PAGE)

# The compiler does not tell: the skeleton, which capture_internal.h includes too, is a system header to it.
$(patsubst %.c,$(BUILD)/%.o,$(shell grep -rlE 'skel\.h|capture_internal\.h' src --include="*.c")) $(UNIT_TESTS:=.o) $(BENCHES:=.o): $(SKELETONS)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(shell find bpf -name "*.h") Makefile
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)echo '/* NOLINTBEGIN: written by bpftool */' > $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf >> $@
	$(Q)echo '/* NOLINTEND */' >> $@

# Both files are of one run: made with the header, the source is as new.
$(BUILD)/%.pb-c.h: %.proto Makefile
	$(call msg,PROTO,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=. --c_out=$(BUILD) $<

$(BUILD)/%.pb-c.o: $(BUILD)/%.pb-c.h
	$(call msg,CC,$@)
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $(<:.h=.c) -o $@

# Tests -------------------------------------------------------------------------------------

# Compiled and linked in two steps: a compiler cache keeps objects only.
$(UNIT_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIBRARIES)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_LINKER) $< $(LIBRARIES) $(LDLIBS) -lcmocka -o $@

# Targets are what they are, whatever we are built with.
$(BUILD)/tests/apps/stacks-gcc: NATIVE_CXX := g++
$(BUILD)/tests/apps/stacks-clang: NATIVE_CXX := clang++
$(BUILD)/tests/apps/stacks-%: $(wildcard tests/apps/native/*.cpp tests/apps/native/*.h) Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NATIVE_CXX) -std=c++20 -O2 -fomit-frame-pointer -pthread -Wall -Wextra -Werror -I. \
		$(filter %.cpp,$^) -o $@

# Makes calls and counts them; also as a stripped program with a debug file.
$(BUILD)/tests/apps/calls: tests/apps/calls/calls.cpp Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=c++20 -O2 -g -fomit-frame-pointer -fcf-protection=branch -pthread \
		-Wall -Wextra -Werror $< -o $@

# Writes down what its functions are given, and give back.
$(BUILD)/tests/apps/watched: tests/apps/watched/watched.cpp Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=c++20 -O2 -g -fomit-frame-pointer -pthread -Wall -Wextra -Werror $< -o $@

# Writes down what its functions call.
$(BUILD)/tests/apps/tree: tests/apps/tree/tree.cpp Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=c++20 -O2 -g -fomit-frame-pointer -pthread -Wall -Wextra -Werror $< -o $@

# What that loads.
$(BUILD)/tests/apps/later.so: tests/apps/calls/later.cpp Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)g++ -std=c++20 -O2 -g -shared -fPIC -fomit-frame-pointer -Wall -Wextra -Werror $< -o $@

$(BUILD)/tests/apps/deep: tests/apps/native/deep.c Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -fno-omit-frame-pointer -fcf-protection=none -Wall -Wextra -Werror $< -o $@

# What its functions are given is looked at: their prologues and returns are what they are, whatever we are built with.
$(BUILD)/tests/apps/priced: tests/apps/native/priced.c Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -fno-omit-frame-pointer -fcf-protection=none -Wall -Wextra -Werror $< -o $@

# A target that rewrites, replaces and floods whatever is looked at.
$(BUILD)/tests/apps/hostile: $(wildcard tests/apps/hostile/*.c tests/apps/hostile/*.h) Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Werror $(filter %.c,$^) -o $@

# Targets of the injector.
$(BUILD)/tests/apps/blocked: $(addprefix tests/apps/blocked/,blocked.c registers.c filters.c)
$(BUILD)/tests/apps/churn: tests/apps/blocked/churn.c
$(addprefix $(BUILD)/tests/apps/,blocked churn): tests/apps/blocked/code.c tests/apps/blocked/blocked.h Makefile
	$(call msg,APP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Werror $(filter %.c,$^) -o $@

$(BUILD)/tests/unit/test_unwind: $(NATIVE_APPS)
# Its oracle is elfutils.
$(BUILD)/tests/unit/test_cfi: LDLIBS += -ldw

$(BENCHES): $(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(LIBRARIES)
	$(call msg,BENCH,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_LINKER) $< $(LIBRARIES) $(LDLIBS) -o $@

$(TOOLS): $(BUILD)/tests/tools/%: $(BUILD)/tests/tools/%.o $(LIBRARIES)
	$(call msg,TOOL,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_LINKER) $< $(LIBRARIES) $(LDLIBS) -o $@

# It looks how much memory there is before some is given back.
$(BUILD)/tests/tools/unwind_rows: LDLIBS += -Wl,--wrap=reallocarray,--wrap=free

# Fuzzers are linked with libraries of their own, built by clang with coverage feedback.
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_LIBRARIES = $(FUZZ_BUILD)/libplace.a $(MAPPARSE_FUZZ_LIBRARY)
$(FUZZERS:=.o): $(BUILD)/%.o: %.c Makefile
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@

$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(FUZZ_LIBRARIES)
	$(call msg,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) $(TEST_LINKER) $< $(FUZZ_LIBRARIES) $(LDLIBS) -o $@

$(FUZZ_BUILD)/libplace.a: $(SOURCES) Makefile $(shell find src bpf -name "*.h") $(wildcard bpf/*.c mapparse/*.h)
	$(Q)$(MAKE) --no-print-directory $(FUZZ_BUILD_OPTIONS) $@

unit: $(UNIT_TESTS) mapparse-tests
# What depends on the kernel is not sanitized in check, and not all the rest is tried twice (tests/test_unit.py).
unit-of-kernel: $(patsubst %.c,$(BUILD)/%,$(shell grep -l unit_needs_root tests/unit/test_*.c) tests/unit/test_btf.c)
fuzzers: $(FUZZERS) mapparse-fuzzers
benches: $(BENCHES) mapparse-benches
tools: $(TOOLS) $(addprefix $(BUILD)/tests/apps/,deep priced calls watched tree later.so blocked churn hostile)

# gcc's two libraries take each other's place when both are shared, and then only one minds its log_path.
ASAN_LDFLAGS := $(if $(findstring clang,$(CC)),,-static-libasan -static-libubsan)
asan:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS="-O1 -g" \
		SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined" \
		LDFLAGS="$(LDFLAGS) $(ASAN_LDFLAGS)" all unit

# Races of threads. An explicit fence is not known to it: -Wno-tsan.
tsan:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CFLAGS="-O1 -g $(if $(findstring clang,$(CC)),,-Wno-tsan)" \
		SANITIZE="-fsanitize=thread" \
		LDFLAGS="$(LDFLAGS) $(if $(findstring clang,$(CC)),,-static-libtsan)" $(BUILD)/tsan/place-probe

setup:
	$(Q)tests/setup

demo:
	$(Q)tests/setup --need-sdk
	$(Q)$(MAKE) $(JOBS) --no-print-directory all
	$(Q)tests/demo

# What they take is noted (tests/part). Of an app that does not build the tests that need it tell.
check-full: how := --full
check-sanitized: how := --sanitized
check-both: how := --guests
check-both-full: how := --full --guests
units := unit-of-kernel
check-full check-both-full: units := unit
check check-full check-sanitized check-both check-both-full: setup
	$(Q)tests/part build tests/cache.sh compile $(MAKE) $(JOBS) --no-print-directory all $(units) fuzzers asan tsan tools
	$(Q)! tests/part apps tests/apps/build || export PLACE_PROBE_TEST_BUILT=1; tests/check $(how)

check-kernels: setup
	$(Q)tests/part 'build for kernels' tests/cache.sh compile $(MAKE) $(JOBS) --no-print-directory all unit-of-kernel
	$(Q)tests/kernels/check

lint: setup
	$(Q)tests/part lint tests/lint/run

arch-check: setup
	$(Q)tests/lint/run --only aarch64-linux-gnu-gcc

check-all:
	$(Q)tests/all lint check-both-full check-sanitized

fuzz: setup fuzzers
	$(Q)tests/fuzz/run $(or $(SECONDS),600)

bench:
	$(Q)tests/setup --bench
	$(Q)$(MAKE) $(JOBS) --no-print-directory all benches tools
	$(Q)tests/bench/run

soak: setup
	$(Q)$(MAKE) $(JOBS) --no-print-directory all
	$(Q)tests/soak $(or $(SOAK_SECONDS),3600)

format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

install: all
	install -D -m 0755 $(BUILD)/place-probe $(DESTDIR)$(PREFIX)/bin/place-probe
	install -D -m 0755 $(MAPPARSE_COMMAND) $(DESTDIR)$(PREFIX)/bin/mapparse
	install -D -m 0644 $(MAPPARSE_LIBRARY) $(DESTDIR)$(PREFIX)/lib/libmapparse.a
	install -D -m 0644 mapparse/mapparse.h $(DESTDIR)$(PREFIX)/include/mapparse.h
	install -D -m 0644 docs/place-probe.1 $(DESTDIR)$(PREFIX)/share/man/man1/place-probe.1
	install -D -m 0644 docs/mapparse.1 $(DESTDIR)$(PREFIX)/share/man/man1/mapparse.1
	install -D -m 0644 packaging/place-probe.bash $(DESTDIR)$(PREFIX)/$(BASH_COMPLETION)
	install -D -m 0644 packaging/_place-probe $(DESTDIR)$(PREFIX)/$(ZSH_COMPLETION)

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/place-probe bin/mapparse lib/libmapparse.a \
		include/mapparse.h share/man/man1/place-probe.1 share/man/man1/mapparse.1 \
		$(BASH_COMPLETION) $(ZSH_COMPLETION))

# The packages come to lie in build/deb; where the tree lies makes no difference to what is in them.
deb:
	$(Q)packaging/deb $(BUILD)/deb

clean:
	rm -rf $(BUILD)

clean-cache:
	$(Q)tests/cache.sh clean

-include $(OBJECTS:.o=.d) $(INJECTOR_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) $(FUZZERS:=.d) $(BENCHES:=.d) $(TOOLS:=.d)

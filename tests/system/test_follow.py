# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods are followed through all bodies that the runtime compiles of them: what the target
itself has counted is what place-probe counted, whoever calls, however, and whenever it came."""

import itertools
import signal

import pytest

from helpers import apps, follow, pairs
from helpers.follow import (EACH_VERSION, IL_ONLY, Followed, check_exact, settle, tiers_of,
                            wait_until_final)

pytestmark = pytest.mark.breakpoints

CALLS = 100_000
PLAIN = ["static", "over-int", "over-two"]
FOUR_FINAL = ["final-static", "final-other", "final-text", "final-recurse"]

# Other kernels are emulated: everything takes longer there, also to react.
GUEST_CALLS = 3000


# From the first call to the last tier -------------------------------------------------------

@pairs.choose("variant, threads", itertools.product([*IL_ONLY, *apps.PRECOMPILED, "sfc10"], [1, 8]),
              lambda variant, threads: (pairs.version_of(variant), threads),
              lambda variant, threads: (pairs.layout_of(variant), threads))
def test_through_the_tiers(place_probe, start, variant, threads):
    """At full speed, from before the first call."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static"])
    # Precompiled code is fast: it is to be left while the calls go on.
    app.calls("static", CALLS if variant in IL_ONLY else 4 * CALLS, threads=threads)
    settle(place_probe, app, ["static"])
    app.calls("static", CALLS // 10, threads=threads)
    result = followed.end_exact()
    assert set(tiers_of(result, "static")) == \
        {follow.FIRST_TIER[variant], "instrumented", "tier1"}, str(result)


def family_of(group):
    """What kinds have in common: that they are generic, or how else tiering finds them."""
    if any(kind.startswith(("generic", "box", "shelf")) for kind in group):
        return "generic"
    return "moving" if apps.MOVING.keys() & set(group) else "plain"


@pairs.choose("variant, group", itertools.product(EACH_VERSION, follow.GROUPS),
              lambda variant, group: (pairs.code_of(variant), *group),
              lambda variant, group: (variant, family_of(group)),
              ident=lambda value: value if isinstance(value, str) else "-and-".join(value))
def test_kinds(place_probe, start, variant, group):
    """Each kind of method and of call, from the first through all tiers."""
    app = start(variant)
    followed = Followed(place_probe, app, group)
    for kind in group:
        app.calls(kind, CALLS // 2, threads=4)
    settle(place_probe, app, group)
    for kind in group:
        app.calls(kind, CALLS // 2, threads=4)
    result = followed.end_exact()
    for kind in group:
        assert follow.LAST_TIERS & set(tiers_of(result, kind)), f"{kind}: {result}"


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_three_at_once(place_probe, start, variant):
    """Each on threads of its own, all of them tiering at the same time."""
    app = start(variant)
    followed = Followed(place_probe, app, PLAIN)
    follow.tier_at_once(place_probe, app, PLAIN, threads=3)
    result = followed.end_exact()
    for kind in PLAIN:
        assert "tier1" in tiers_of(result, kind), str(result)


@pytest.mark.parametrize("variant, setting", [
    ("fd10", {"DOTNET_TieredPGO": "0"}), ("r2r10", {"DOTNET_TieredPGO": "0"}),
    ("fd10", {"DOTNET_TC_QuickJit": "0"}), ("fd10", {"DOTNET_EnableWriteXorExecute": "0"}),
    ("il8", {"DOTNET_EnableWriteXorExecute": "0"}), ("fd10", {"DOTNET_gcServer": "1"}),
    ("fd10", {"DOTNET_TC_BackgroundWorkerTimeoutMs": "0", "DOTNET_TC_CallCountThreshold": "2"}),
    ("sc8", {"DOTNET_TC_CallCountingDelayMs": "0"}),
], ids=str)
def test_settings(place_probe, start, variant, setting):
    """What changes through which bodies a method goes, how fast, and where they lie."""
    app = start(variant, extra=setting)
    followed = Followed(place_probe, app, PLAIN)
    for kind in PLAIN:
        app.calls(kind, CALLS // 4, threads=8)
    settle(place_probe, app, PLAIN)
    for kind in PLAIN:
        app.calls(kind, CALLS // 10, threads=8)
    followed.end_exact()


@pytest.mark.parametrize("variant", ["fd10", "il8"])
def test_without_tiering(place_probe, start, variant):
    """Four methods whose first body is their last, compiled after the probes were placed."""
    app = start(variant, tiered=False)
    kinds = [*PLAIN, "throws"]
    followed = Followed(place_probe, app, kinds)
    for kind in kinds:
        app.calls(kind, CALLS // 4, threads=4)
    result = followed.end_exact()
    assert all(set(tiers_of(result, kind)) == {"optimized"} for kind in kinds), str(result)


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_four_final(place_probe, start, variant):
    """Four that are compiled once and for good, at their first calls."""
    app = start(variant)
    followed = Followed(place_probe, app, FOUR_FINAL)
    for kind in FOUR_FINAL:
        app.calls(kind, CALLS // 4, threads=8)
    followed.end_exact()


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_four_that_have_arrived(place_probe, start, variant):
    """Four that tiering has brought to their last bodies before."""
    app = start(variant)
    kinds = [*PLAIN, "virtual"]
    settle(place_probe, app, kinds)
    followed = Followed(place_probe, app, kinds)
    for kind in kinds:
        app.calls(kind, CALLS // 4, threads=8)
    result = followed.end_exact()
    assert all(set(tiers_of(result, kind)) == {"tier1"} for kind in kinds), str(result)


# Attaching in the middle --------------------------------------------------------------------

# After so many calls that are counted the next body is compiled.
THRESHOLD = 30


@pairs.choose("variant, earlier", itertools.product(EACH_VERSION, [1, 29, 31, 1000, "settled"]),
              lambda variant, earlier: (pairs.code_of(variant), earlier),
              lambda variant, earlier: (pairs.version_of(variant), earlier != "settled" and earlier < THRESHOLD))
def test_earlier_calls(place_probe, start, variant, earlier):
    """The method has bodies already, and may be about to get the next."""
    app = start(variant)
    if earlier == "settled":
        settle(place_probe, app, ["static"])
    else:
        app.calls("static", earlier, threads=1)
    followed = Followed(place_probe, app, ["static"])
    app.calls("static", CALLS // 4, threads=8)
    settle(place_probe, app, ["static"])
    app.calls("static", CALLS // 4, threads=8)
    followed.end_exact()


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_calls_go_on_while_it_attaches(place_probe, start, variant):
    """All calls since it said that it had attached are counted, and none twice."""
    for _ in range(3):
        app = start(variant)
        app.run("static", 8)
        before = app.count("static")
        live = place_probe.count("--strict", app.pid, follow.KINDS["static"])
        attached = app.count("static")
        wait_until_final(place_probe, app, ["static"])
        assert app.halt() == 8
        app.calls("static", CALLS // 10, threads=8)
        after = app.count("static")
        result = live.stop()
        counted = follow.calls_of(result, "static")
        follow.check_consistent(result, {"static": counted})
        assert result.summary()["lower_bound"] == [], str(result)
        # In each thread one call may have been under way, entered and not yet counted by the target.
        assert after - attached - 8 <= counted <= after - before, \
            f"{before} before, {attached} once attached, {after} after: {result}"


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_again_and_again(place_probe, start, variant):
    """One run after the other, while the method moves on."""
    app = start(variant)
    for _ in range(8):
        followed = Followed(place_probe, app, ["static"])
        app.calls("static", CALLS // 20, threads=4)
        followed.end_exact()


# Threads, the collector, exceptions, loops ---------------------------------------------------

@pytest.mark.parametrize("variant", EACH_VERSION)
def test_threads(place_probe, start, variant):
    """Threads that were there before, that come later, that come of each other."""
    app = start(variant)
    app.workers(5)
    followed = Followed(place_probe, app, ["static"])
    for _ in range(2):
        app.work("static", CALLS // 10)
        app.calls("static", CALLS // 4, threads=8)
        app.nested("static", CALLS // 10, threads=9)
        app.calls("static", 1000, threads=100)
        app.calls("static", 1000)
        settle(place_probe, app, ["static"])
    followed.end_exact()


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_exceptions_and_collections(place_probe, start, variant):
    """Without a pause, on other threads and in the methods themselves."""
    app = start(variant)
    kinds = ["throws", "finally", "recurse"]
    followed = Followed(place_probe, app, kinds)
    app.storm(True)
    for kind in kinds:
        app.calls(kind, CALLS // 50, threads=4)
    app.storm(False)
    app.storm(True, gentle=True)
    for kind in kinds:
        app.calls(kind, CALLS // 10, threads=4)
    settle(place_probe, app, kinds)
    for kind in kinds:
        app.calls(kind, CALLS // 10, threads=4)
    app.storm(False)
    followed.end_exact()


@pytest.mark.parametrize("variant", IL_ONLY)
def test_replaced_within_a_loop(place_probe, start, variant):
    """A body that is entered in the middle of a loop is known, and is no call."""
    app = start(variant)
    followed = Followed(place_probe, app, ["loop"])
    for _ in range(10):
        app.calls("loop", CALLS // 20, threads=4)
    settle(place_probe, app, ["loop"])
    app.calls("loop", CALLS // 2, threads=8)
    listed = place_probe.run("-l", "-j", app.pid, apps.LOOP).records("site")
    assert "osr" in {site["tier"] for site in listed}, "it was never replaced within its loop"
    result = followed.end_exact()
    assert "tier1" in tiers_of(result, "loop"), str(result)


@pytest.mark.parametrize("variant", ["fd10", "sc8"])
def test_main_thread_gone(place_probe, start, variant):
    app = start(variant)
    app.workers(3)
    app.exit_main()
    followed = Followed(place_probe, app, ["static"])
    app.work("static", CALLS // 4)
    app.calls("static", CALLS // 4, threads=4)
    settle(place_probe, app, ["static"])
    app.work("static", CALLS // 4)
    followed.end_exact()


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "sc8"])
def test_another_process_of_the_program(place_probe, start, variant):
    """It goes through the same tiers in the same files' code, be it a child."""
    app, other = start(variant), start(variant)
    followed = Followed(place_probe, app, ["static"])
    other.run("static", 2)
    app.calls("static", CALLS // 10, threads=2)
    app.child("spawn", "static", CALLS)
    app.run_true(3)
    settle(place_probe, app, ["static"])
    wait_until_final(place_probe, other, ["static"])
    app.calls("static", CALLS // 10, threads=2)
    other.halt()
    followed.end_exact()


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_target_ends(place_probe, start, variant):
    """Nothing has to be asked of it afterwards."""
    app = start(variant)
    followed = Followed(place_probe, app, PLAIN)
    for kind in PLAIN:
        app.calls(kind, CALLS // 10, threads=8)
    made = followed.made()
    assert app.quit(6) == 6
    check_exact(followed.live.finish(), made)


# Not alone ------------------------------------------------------------------------------------

def test_debug_registers_are_given_back(place_probe, start):
    """Whatever followed before, four are free again."""
    app = start("fd10")
    settle(place_probe, app, PLAIN)
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        followed = Followed(place_probe, app, PLAIN)
        app.calls("static", 100, threads=2)
        followed.live.stop(number)
    followed = Followed(place_probe, app, FOUR_FINAL)
    for kind in FOUR_FINAL:
        app.calls(kind, 1000, threads=2)
    followed.end_exact()


@pytest.mark.parametrize("seconds", [["static"], ["over-int"], PLAIN])
def test_two_at_once(place_probe, start, seconds):
    """Two runs may be short of registers; then they say so, and neither counts wrong."""
    app = start("fd10")
    first = Followed(place_probe, app, ["static"])
    second = Followed(place_probe, app, seconds)
    for kind in dict.fromkeys(["static", *seconds]):
        app.calls(kind, CALLS // 10, threads=4)
        app.calls(kind, CALLS // 10, threads=4)
    exact = 0
    for followed in (first, second):
        result, made = followed.end()
        below = follow.check_bounded(result, made)
        exact += len(made) - len(below)
        for kind in below:
            assert follow.reasons_of(result, kind) == {"no-debug-register"}, str(result)
    assert exact, "four registers, and neither has counted anything"


# Other kernels --------------------------------------------------------------------------------

@pytest.mark.kernel
@pytest.mark.parametrize("variant", ["fd10", "r2r10"])
def test_other_kernel(place_probe, start, variant):
    """Through all tiers, with a bound that suits a slow machine."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static"])
    app.calls("static", GUEST_CALLS, threads=4)
    settle(place_probe, app, ["static"])
    app.calls("static", GUEST_CALLS, threads=4)
    result = followed.end_exact()
    assert "tier1" in tiers_of(result, "static"), str(result)


@pytest.mark.kernel
def test_three_at_once_on_other_kernel(place_probe, start):
    app = start("fd10")
    kinds = ["virtual", "throws", "async"]
    followed = Followed(place_probe, app, kinds)
    follow.tier_at_once(place_probe, app, kinds, threads=2)
    followed.end_exact()

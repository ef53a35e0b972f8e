#!/usr/bin/env python3
"""The acceptance of `hermes browse`: keys into a real terminal (tmux), screens out, on a server of its own.

    scripts/browse_scenarios.py                     all, with .build/debug/hermes
    scripts/browse_scenarios.py --only 5,13 --keep  some, and the folder stays
    scripts/browse_scenarios.py --server URL --data DIR
                                                    on a server that runs, with a class Comentarios of any size (such as
                                                    scripts/seed --lines makes); the other classes are added to it
    scripts/browse_scenarios.py --times --server …  how long each key takes there, instead

Between browser and server stands a proxy that writes down every request. Ends with 77 and a sentence where there is no
tmux. Needs Python 3.9 or later.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "scripts/browse.d"))
import scenarios  # noqa: E402
from times import times  # noqa: E402
from world import Failure, World  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hermes", default=str(HERE / ".build/debug/hermes"))
    parser.add_argument("--server")
    parser.add_argument("--data")
    parser.add_argument("--rows", type=int, default=450, help="how many Comentarios are to be made")
    parser.add_argument("--times", action="store_true", help="time the keys instead of trying the scenarios")
    parser.add_argument("--only", help="numbers of scenarios")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.hermes = os.path.abspath(options.hermes)
    if not shutil.which("tmux"):
        print("skipped: there is no tmux here (apt install tmux)")
        sys.exit(77)
    wanted = [int(n) for n in options.only.split(",")] if options.only else range(1, 30)
    world = World(options)
    failures = 0
    try:
        if options.times:
            times(world)
            return
        for number in wanted:
            scenario = getattr(scenarios, f"s{number}")
            begin = time.monotonic()
            try:
                scenario(world)
                print(f"ok   {number:2} {scenario.__doc__}  ({time.monotonic() - begin:.1f} s)", flush=True)
            except (Failure, subprocess.SubprocessError) as failure:
                failures += 1
                print(f"FAIL {number:2} {scenario.__doc__}\n{failure}", flush=True)
            for terminal in world.open:
                terminal.close()
            world.open.clear()
    finally:
        world.close()
    print(f"{len(list(wanted)) - failures} of {len(list(wanted))} scenarios hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

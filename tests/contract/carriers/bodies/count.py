"""What actor.py does, in place of the count."""


def answer(run):
    import json
    import os
    import signal
    import sys
    from pathlib import Path

    me = Path(sys.argv[0]).absolute()
    seen = me.with_name(me.name + ".seen")
    runs = json.loads(me.with_name(me.name + ".script.json").read_text())["runs"]
    number = len(seen.read_text().splitlines()) if seen.exists() else 0
    keys = ("contexts", "configValues", "values", "instance", "packageDirectory")
    with seen.open("a") as file:
        file.write(json.dumps({key: run[key] for key in keys if key in run}) + "\n")
    reply = {}
    for action in runs[min(number, len(runs) - 1)]:
        if "out" in action:
            print(action["out"], flush=True)
        if "err" in action:
            print(action["err"], file=sys.stderr, flush=True)
        if "exit" in action:
            os._exit(action["exit"])
        if "kill" in action:
            os.kill(os.getpid(), action["kill"])
        if "deaf" in action:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if "mark" in action:
            me.with_name(action["mark"]).touch()
        while "hang" in action or "wait" in action:
            signal.pause()
        reply |= action.get("answer", {})
        if "fail" in action:
            reply |= {"outcome": "failed", "message": action["fail"]}
    return reply

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures, in a guest that tests/bench/run starts.

    guest.py FOLDER ROUND SHORT TARGETS JOBS        each target leaves FOLDER/ROUND.TARGET.json
    guest.py --missing FOLDER ROUND TARGETS JOBS    succeeds if some of that is not there
    guest.py --check TARGETS|JOBS NAMES             says the names, or what is wrong with them

TARGETS and JOBS, below, are the tables of what there is. A job gets devices without history.
"""
import contextlib
import glob
import json
import os
import subprocess
import sys
import time

TOP = os.path.realpath(os.path.dirname(__file__) + "/../..")
# An emulated processor loads dmsetup's libraries for as long as a set moves 100 MiB.
QUICKDM = f"{TOP}/tests/functional/quickdm"
TIERCTL = f"{TOP}/userspace/tierctl"
CONFIGFS = "/sys/kernel/config/nullb"
MIB = 1 << 20


def run(*words, **options):
    return subprocess.run([str(w) for w in words], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def read(path):
    with open(path) as f:
        return f.read()


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.1)
    return path


def sectors(dev):
    with open(dev, "rb") as f:
        return f.seek(0, os.SEEK_END) // 512


# ---------------------------------------------------------------- devices

class NullDisk:
    """A disk in memory, as fast as the processor or with a latency."""
    def __init__(self, name, mib, latency_us=0, max_kib=0, **settings):
        self.item = f"{CONFIGFS}/bench_{name}"
        self.dev = f"/dev/bench_{name}"
        os.mkdir(self.item)
        settings.update(size=mib, memory_backed=1, discard=1)
        if latency_us:
            settings.update(irqmode=2, completion_nsec=latency_us * 1000)
        for key, value in {**settings, "power": 1}.items():
            write(f"{self.item}/{key}", value)
        if max_kib:
            write(f"/sys/block/bench_{name}/queue/max_sectors_kb", max_kib)

    def remove(self):
        write(f"{self.item}/power", 0)
        os.rmdir(self.item)


class SlowDisk:
    """A disk with one actuator, see ci/guest/slowdisk. In the guest, so that it goes by the
    guest's clock."""
    def __init__(self, name, mib):
        self.dev = "/dev/nbd0"
        self.socket = f"/run/{name}.sock"
        self.server = subprocess.Popen(
            ["nbdkit", "--foreground", "--unix", self.socket,
             f"{TOP}/ci/guest/slowdisk/slowdisk.so", f"size={mib}M"])
        wait_for(self.socket)
        run("nbd-client", "-unix", self.socket, self.dev)
        write("/sys/block/nbd0/queue/rotational", 1)

    def remove(self):
        run("nbd-client", "-d", self.dev)
        self.server.terminate()
        self.server.wait()
        os.unlink(self.socket)


def written(disk):
    """Bytes, in all; see Documentation/block/stat.rst"""
    return 512 * int(read(f"/sys/block/{os.path.basename(disk.dev)}/stat").split()[6])


def dm_create(name, *lines):
    run("dmsetup", "create", name, input="\n".join(lines))
    DM.append(name)
    return f"/dev/mapper/{name}"


def dm_remove_all():
    while DM:
        run("dmsetup", "remove", "--retry", DM.pop())


DM = []
MODULES = ("null_blk nr_devices=0", "nbd nbds_max=1", "dm-tier", "dm-tier-heat", "dm-cache-smq",
           "dm-writecache", "dm-thin-pool", "bcache")

# ---------------------------------------------------------------- targets
# Each gets the disks, and returns the device that is measured.

def linear(dev, name="linear", start=0, length=None):
    return dm_create(name, f"0 {length or sectors(dev) - start} linear {dev} {start}")


def tier(d, chunk, fast=None):
    """fast: the device that is the fast tier, if it is not the whole of it"""
    fast = fast or d["fast"].dev
    area = max(chunk, 2048)
    places = sum((sectors(dev) - area) // chunk for dev in (fast, d["slow"].dev))
    length = d["length"] or (places - min(max(places // 128, 2), 64)) * chunk
    core = d["core"]
    return dm_create("tier", f"0 {length} tier {d['meta'].dev} {chunk} 2 {fast} {d['slow'].dev} "
                     f"0 {len(core)} {' '.join(map(str, core))} heat 0")


def dm_cache(d, mode):
    return dm_create("cache", f"0 {sectors(d['slow'].dev)} cache {d['meta'].dev} {d['fast'].dev} "
                     f"{d['slow'].dev} 128 1 {mode} smq 0")


def writecache(origin, fast):
    return dm_create("writecache", f"0 {sectors(origin)} writecache s {origin} {fast} 4096 0")


def dm_thin(d):
    pool = dm_create("pool", f"0 {sectors(d['fast'].dev)} thin-pool {d['meta'].dev} "
                     f"{d['fast'].dev} 128 0")
    run("dmsetup", "message", "pool", 0, "create_thin 0")
    return dm_create("thin", f"0 {sectors(d['fast'].dev)} thin {pool} 0")


def tier_wb(d):
    """dm-writecache on a quarter of the fast device, the set on the rest and the slow one"""
    quarter = sectors(d["fast"].dev) // 4
    stage = linear(d["fast"].dev, "stage", 0, quarter)
    return writecache(tier(d, 2048, linear(d["fast"].dev, "rest", quarter)), stage)


def tier_mirror(d):
    """The metadata on both tiers, not on a device of its own"""
    run(TIERCTL, "create", "-q", "-y", "tier", d["fast"].dev, d["slow"].dev)
    names = [line.split()[0] for line in run("dmsetup", "ls").splitlines()]
    # In this order; the last is removed first.
    DM.extend(sorted((name for name in names if name.startswith("tier-")),
                     key=lambda name: name.endswith("-meta")))
    DM.append("tier")
    return "/dev/mapper/tier"


def bcache(d):
    run("make-bcache", "--writeback", "--wipe-bcache", "-C", d["fast"].dev, "-B", d["slow"].dev)
    for disk in ("fast", "slow"):
        write("/sys/fs/bcache/register", d[disk].dev)
    return wait_for("/dev/bcache0")


def bcache_stop():
    if os.path.exists("/dev/bcache0"):
        write("/sys/block/bcache0/bcache/stop", 1)
    for path in glob.glob("/sys/fs/bcache/*-*"):
        write(path + "/stop", 1)
    while os.path.exists("/dev/bcache0") or glob.glob("/sys/fs/bcache/*-*"):
        time.sleep(0.1)


TARGETS = {
    "fast": lambda d: linear(d["fast"].dev),
    "slow": lambda d: linear(d["slow"].dev),
    "dm-cache": lambda d: dm_cache(d, "writeback"),
    "dm-cache-wt": lambda d: dm_cache(d, "writethrough"),
    "dm-writecache": lambda d: writecache(d["slow"].dev, d["fast"].dev),
    "bcache": bcache,
    "dm-thin": dm_thin,
    "tier": lambda d: tier(d, 2048),
    "tier-64k": lambda d: tier(d, 128),
    "tier-wb": tier_wb,
    "tier-mirror": tier_mirror,
}
LIMITS = {"fast", "slow"}
TIERS = {"tier", "tier-64k"}		# their status and messages are a set's
BOTH = set(TARGETS) - LIMITS - {"dm-thin", "tier-mirror"}

# ---------------------------------------------------------------- measuring

def result(iops=None, p50_us=None, p99_us=None, seconds=None):
    return {"iops": iops, "p50_us": p50_us, "p99_us": p99_us, "seconds": seconds}


def fio_words(dev, **options):
    words = {"name": "bench", "filename": dev, "direct": 1, "ioengine": "libaio", "bs": "4k",
             "iodepth": 16, "thread": None, "randrepeat": 0, "randseed": 1, "norandommap": None,
             "output-format": "json", "percentile_list": "50:99", **options}
    ramp = words.pop("ramp_time", False)
    if "runtime" in words:
        if ramp:
            words["ramp_time"] = f"{round(words['runtime'] * 1000)}ms"
        words["runtime"] = f"{round(words['runtime'] * 1000)}ms"
        words.setdefault("io_size", f"{MOST * int(words['bs'][:-1])}k")
    return ["fio", *(f"--{k}" if v is None else f"--{k}={v}" for k, v in words.items())]


def fio(dev, stderr=None, **options):
    jobs = json.loads(run(*fio_words(dev, **options), stderr=stderr))["jobs"]
    sides = [j[side] for j in jobs for side in ("read", "write") if j[side]["total_ios"]]
    main = max(sides, key=lambda s: s["total_ios"])
    percentile = main["clat_ns"].get("percentile", {})
    return result(round(sum(s["iops"] for s in sides), 1),
                  percentile.get("50.000000", 0) / 1000, percentile.get("99.000000", 0) / 1000,
                  max(s["runtime"] for s in sides) / 1000)


def until_quick(dev, **options):
    """Reads until 90% of those of half a second take less than a millisecond. One fio reads all
    the time: what the start of one costs is not the target's."""
    words = fio_words(dev, rw="randread", io_size="1t", **{"status-interval": "500ms"}, **options)
    text, reads, quick = "", 0, 0
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            text += line
            if line != "}\n":		# each status is an object, of all since the start
                continue
            job, text = json.loads(text)["jobs"][0], ""
            before = reads, quick
            reads = job["read"]["total_ios"]
            quick = reads * sum((*job["latency_ns"].values(), *job["latency_us"].values())) / 100
            if quick - before[1] >= 0.9 * (reads - before[0]):
                break
        process.terminate()
    return result(seconds=job["job_runtime"] / 1000)


class Bench:
    """One target's turn at a job."""
    def __init__(self, target, job, round_):
        self.target = target
        self.key = {"target": target, "job": job, "round": round_}
        self.results = []
        self.disks = {}

    def make(self, slow=None, fast=512, latency_us=0, slow_latency_us=0, max_kib=0, core=(),
             length=None, **settings):
        """Fresh disks and the target on them. slow: MiB of a disk in memory, or None for the
        one with an actuator; core and length (in sectors) are a set's"""
        self.drop()
        self.disks = {"meta": NullDisk("meta", 16, latency_us, **settings),
                      "fast": NullDisk("fast", fast, latency_us, max_kib, **settings),
                      "slow": NullDisk("slow", slow, slow_latency_us) if slow else
                              SlowDisk("slow", 1536)}
        self.dev = TARGETS[self.target]({**self.disks, "core": core, "length": length})
        return self.dev

    def drop(self):
        bcache_stop()
        dm_remove_all()
        for disk in self.disks.values():
            disk.remove()
        self.disks = {}

    def bytes_written(self):
        return {name: written(disk) for name, disk in self.disks.items()}

    def cell(self, pass_, measure):
        """measure() returns a result(), or nothing: then seconds are counted here."""
        before, start = self.bytes_written(), time.monotonic()
        r = measure() or result(seconds=round(time.monotonic() - start, 3))
        r["bytes_written"] = {k: v - before[k] for k, v in self.bytes_written().items()}
        self.results.append({**self.key, "pass": pass_, **r})
        print(f"{self.target:14} {self.key['job']:10} {pass_:26} "
              f"{r['iops'] or 0:10.0f} IOPS {r['seconds']:7.2f} s "
              f"{sum(r['bytes_written'].values()) / MIB:7.0f} MiB", flush=True)

    def fio(self, pass_, **options):
        # Another seed for each cell: the same blocks once more would be in any cache. Of zipf the
        # seed tells which blocks are hot.
        if "random_distribution" not in options:
            options["randseed"] = 1 + len(self.results)
        self.cell(pass_, lambda: fio(self.dev, **options))

    @contextlib.contextmanager
    def load(self, **options):
        """fio in the background"""
        with subprocess.Popen(fio_words(self.dev, runtime=3600, io_size="1t", **options),
                              stdout=subprocess.DEVNULL) as process:
            yield
            process.terminate()

    def size(self, mib):
        """MiB, no more than the target has"""
        return min(mib, sectors(self.dev) * 512 // MIB)

    def fill(self, mib, **options):
        fio(self.dev, rw="write", bs="1m", size=f"{self.size(mib)}m", iodepth=4, end_fsync=1,
            **options)

    def message(self, *words):
        return run(QUICKDM, "message", "tier", 0, *words)

    def status(self):
        return run(QUICKDM, "status", "tier").split()


# ---------------------------------------------------------------- jobs

# zipf has one seed for both: the second run repeats the first, which is not counted, and goes on.
FIRST_AND_AGAIN = (("first", False), ("again", True))


def overhead(b):
    b.make(slow=512)
    size = "48m"
    for _ in range(2):		# a cache gets a second chance to take it in
        b.fill(48)
    for rw in ("randread", "randwrite"):
        for depth in (1, 32):
            b.fio(f"{rw} depth {depth}", rw=rw, iodepth=depth, size=size, runtime=T)
        b.fio(f"{rw} two jobs", rw=rw, numjobs=2, group_reporting=None, size=size, runtime=T)
    for rw in ("read", "write"):
        b.fio(f"{rw} 128k", rw=rw, bs="128k", size=size, runtime=T)
    b.fio("randwrite fsync", rw="randwrite", iodepth=1, fsync=1, size=size, runtime=T)
    uring = {"rw": "randread", "ioengine": "io_uring", "size": size, "runtime": T}
    b.fio("io_uring", **uring)
    for name, option in (("nowait", "nowait"), ("polled", "hipri")):
        with contextlib.suppress(subprocess.CalledProcessError):	# not all can do that
            b.fio(name, stderr=subprocess.DEVNULL, **{option: 1}, **uring)


def published(b):
    b.make(latency_us=80)
    b.fill(1024)
    for pass_, at in (("first", 0), ("again", 32)):
        for rw in ("read", "randread", "write", "randwrite"):
            # Caches take a part of a sequential write in, and pay for it later: all is written.
            options = {"size": f"{b.size(1024)}m", "runtime": LONG}
            if not rw.startswith("rand"):
                options |= {"io_size": options["size"], "runtime": 2 * LONG}
                if SHORT:
                    options |= {"zonemode": "strided", "zonesize": "4m", "zoneskip": "60m",
                                "io_size": "60m", "offset": f"{at}m",
                                "size": f"{b.size(1024) - at}m"}
            b.fio(f"{pass_} {rw}", rw=rw, **options)


def zipf(b):
    for name, mib in (("half", 256), ("twice", 1024)):
        b.make(latency_us=80)
        b.fill(mib)
        for theta in THETAS:
            for pass_, ramp in FIRST_AND_AGAIN:
                b.fio(f"{pass_} {theta} {name}", rw="randread", size=f"{b.size(mib)}m",
                      random_distribution=f"zipf:{theta}", runtime=LONG, ramp_time=ramp)


def mixed(b):
    b.make(latency_us=80)
    b.fill(1024)
    for pass_, ramp in FIRST_AND_AGAIN:
        b.fio(pass_, rw="randrw", rwmixread=70, bs="8k", size=f"{b.size(1024)}m",
              random_distribution="zipf:1.1", runtime=LONG, ramp_time=ramp)


def fill(b):
    b.make(latency_us=80)
    b.fio("all", rw="write", bs="1m", iodepth=4, size=f"{b.size(1024)}m", end_fsync=1)


def first(b):
    for pass_, disk, options in (
            ("write 128k", {}, {"rw": "write", "bs": "128k", "size": "200m"}),
            ("write 1m max_sectors_kb 127", {"max_kib": 127},
             {"rw": "write", "bs": "1m", "size": "100m", "iodepth": 4}),
            ("randwrite 4k once", {}, {"rw": "randwrite", "size": "64m",
                                       "random_generator": "lfsr"})):
        b.make(slow=512, **disk)
        b.fio(pass_, **options)


def fsync(b):
    """Disks with a volatile cache, so that flushes reach them. It never fills: on one CPU null_blk
    spins for ever if a write has to make room there while a flush is under way."""
    mib = b.make(slow=512, cache_size=512) and b.size(400)
    # The first writes come first: their share is right only if all 4 s are used.
    options = {"rw": "randwrite", "iodepth": 1, "fsync": 1, "size": f"{mib}m", "runtime": 4,
               "io_size": "1t"}
    b.fio("new", **options)
    b.fill(mib)
    b.fio("mapped", **options)


def mirror(b):
    """What the leg on the disk costs, where metadata changes"""
    b.make(latency_us=80)
    options = {"rw": "randwrite", "iodepth": 1, "fsync": 1, "size": "64m", "runtime": LONG}
    b.fio("fsync new", **options)
    b.fill(64)
    b.fio("fsync mapped", **options)
    b.fio("first writes 1m", rw="write", bs="1m", iodepth=4, offset="200m", size="100m", end_fsync=1)


def empty(b):
    mib = 320
    # The set has to fit the slow disk.
    b.make(slow=512, core=("migration_bandwidth", 0), length=mib * 2048)
    b.fill(mib)

    def evacuate():
        end = written(b.disks["slow"]) + mib * MIB
        b.message("evacuate", 0)
        # Even this look at the status costs an emulated guest as much as some moves.
        while written(b.disks["slow"]) < end or int(b.status()[12].split("/")[0]):
            time.sleep(0.01)

    def dd():
        said = run("dd", f"if={b.disks['fast'].dev}", f"of={b.disks['slow'].dev}", "bs=1M",
                   f"count={mib}", "iflag=direct", "oflag=direct", "conv=fsync",
                   stderr=subprocess.STDOUT)
        return result(seconds=float(said.split(" s, ")[0].split()[-1]))
    b.cell(f"{mib} MiB", evacuate if b.target in TIERS else dd)


def hot(b):
    """What of a hot set of 100 MiB is on a fast tier of 127 MiB after 12 s"""
    b.make(slow=512, fast=128, slow_latency_us=2000, core=("tier0.landing", 0))
    b.fill(384)
    b.fio("100 MiB", rw="randread", offset="128m", size="100m", runtime=12, io_size="1t",
          rate_iops=8000)


def shift(b):
    """A set of 64 MiB gets hot, then another one"""
    b.make(latency_us=80)
    b.fill(1024)
    for pass_, at in (("hot set", 768), ("moves", 896)):
        b.cell(pass_, lambda at=at: until_quick(b.dev, offset=f"{at}m", size="64m", runtime=45))


def migrating(b):
    """Reads of what lies fast, and writes of what moves"""
    b.make(latency_us=80)
    b.fill(768)
    reads = {"rw": "randread", "iodepth": 1, "offset": "64m", "size": "64m", "runtime": LONG}
    chunks = 64 * MIB // (int(b.status()[6]) * 512)
    b.message("pause")
    b.fio("reads, paused", **reads)
    for name, options, moved in (("reads", reads, 0),
                                 ("writes", {**reads, "rw": "randwrite"}, chunks)):
        for rank in (1, 0):
            b.message("migrate", moved, chunks, rank)
            b.fio(f"{name}, moving {('up', 'down')[rank]}", **options)
    load = {"rw": "randwrite", "fsync": 1, "offset": "768m", "size": "128m"}
    with b.load(**load):
        b.fio("reads, commits", **reads)
    # The same load without a commit: what the CPU and the disks are kept busy with.
    b.fill(128, offset="768m")
    with b.load(**load):
        b.fio("reads, flushes", **reads)


def drain(b):
    """After a burst: seconds until nothing is written any more, 20 at most"""
    b.make(latency_us=80)
    b.fill(1024)
    b.fio("burst", rw="randwrite", size="1024m", runtime=LONG)

    def quiet():
        start = last = time.monotonic()
        before = b.bytes_written()
        while time.monotonic() < min(last + 3, start + 20):
            time.sleep(0.25)
            if b.bytes_written() != before:
                before, last = b.bytes_written(), time.monotonic()
        return result(seconds=round(last - start, 2))
    b.cell("quiet", quiet)


# What does what: the job, and the targets for which it makes sense.
JOBS = {
    "overhead": (overhead, {*BOTH, "fast"}),
    "published": (published, {*BOTH, *LIMITS}),
    "zipf": (zipf, {*BOTH, *LIMITS}),
    "mixed": (mixed, {*BOTH, *LIMITS}),
    "fill": (fill, {*BOTH, *LIMITS}),
    "fsync": (fsync, {*BOTH, "fast", "dm-thin"}),
    "shift": (shift, BOTH),
    "migrating": (migrating, TIERS),
    "drain": (drain, {*BOTH, "slow"}),
    "first": (first, {*BOTH, "fast", "dm-thin"}),
    "empty": (empty, {*TIERS, "fast"}),
    "hot": (hot, TIERS),
    "mirror": (mirror, {"tier", "tier-mirror"}),
}

# ---------------------------------------------------------------- rounds

# Seconds that a cell takes at most, and one that has to reach the slow disk at random; the I/Os
# that it takes at most; exponents of zipf; whether only a part of the file is gone through.
T = LONG = MOST = 0
THETAS = ()
SHORT = False


def load(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)


def jobs_left(folder, round_, target, jobs):
    done = {r["job"] for r in load(f"{folder}/{round_}.{target}.json")}
    return [j for j in jobs if target in JOBS[j][1] and j not in done]


def probe():
    """How much faster the fast disk is than the slow one: does not change on a quiet machine"""
    b = Bench("fast", "probe", 0)
    b.make(latency_us=80)
    fast = fio(b.dev, rw="randread", runtime=T)["iops"]
    slow = fio(b.disks["slow"].dev, rw="read", bs="1m", iodepth=4, runtime=T)["iops"]
    b.drop()
    return fast / slow


def turn(target, jobs, round_):
    results = []
    for job in jobs:
        b = Bench(target, job, round_)
        try:
            JOBS[job][0](b)
        finally:
            b.drop()
        results += b.results
    return results


def measure(folder, round_, short, targets, jobs):
    global T, LONG, MOST, THETAS, SHORT
    SHORT = bool(short)
    T, LONG, MOST, THETAS = ((0.15, 2, 5000, (1.1,)) if short else
                             (1, 10, 150000, (0.9, 1.1, 1.3)))
    os.environ["DM_DISABLE_UDEV"] = "1"
    run("udevadm", "control", "--exit")
    if os.path.exists("/run/udev/control"):
        os.unlink("/run/udev/control")
    for module in MODULES:
        run("modprobe", *module.split())
    before = probe()
    for target in targets:
        path = f"{folder}/{round_}.{target}.json"
        todo = jobs_left(folder, round_, target, jobs)
        if not todo:
            continue
        for _ in range(3):
            results = turn(target, todo, round_)
            after = probe()
            noise, before = abs(after / before - 1), after
            if noise <= 0.1:
                break
            print(f"{target}: the machine is noisy, the ratio of the disks changed by {noise:.0%}",
                  flush=True)
        write(path + ".new", json.dumps(load(path) + results))
        os.rename(path + ".new", path)


def check(kind, names):
    known = {"TARGETS": TARGETS, "JOBS": JOBS}[kind]
    wrong = [n for n in names.split() if n not in known]
    if wrong:
        sys.exit(f"bench: {kind}: no {wrong[0]}; there are {' '.join(known)}")
    print(*([n for n in known if n in names.split()] or known))


def main(what, *args):
    if what == "--check":
        check(*args)
    elif what == "--missing":
        folder, round_, targets, jobs = args
        sys.exit(not any(jobs_left(folder, round_, t, jobs.split()) for t in targets.split()))
    else:
        folder, round_, short, targets, jobs = what, *args
        measure(folder, int(round_), short, targets.split(), jobs.split())


if __name__ == "__main__":
    main(*sys.argv[1:])

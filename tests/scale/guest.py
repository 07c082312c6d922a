#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures one set, in a guest that tests/scale/run starts.

    guest.py make CHUNK_SECTORS                      formats a small set on the disks
    guest.py measure CHUNK_SECTORS CHUNKS RESULT     measures the set whose metadata was put there

The disks are $DISK1 (metadata), $DISK2 (fast), $DISK3 (slow).
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import threading
import time

TOP = os.path.realpath(os.path.dirname(__file__) + "/../..")
# An emulated processor takes long to load dmsetup's libraries.
QUICKDM = f"{TOP}/tests/functional/quickdm"
DEV = "/dev/mapper/scale"
KIB, MIB = 1 << 10, 1 << 20


def run(*words, **options):
    return subprocess.run([str(w) for w in words], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def read(path):
    with open(path) as f:
        return f.read()


def table(chunk, chunks):
    meta, fast, slow = (os.environ[f"DISK{n}"] for n in (1, 2, 3))
    return f"0 {chunk * chunks} tier {meta} {chunk} 2 {fast} {slow} 0 0 heat 0"


def activate(chunk, chunks):
    run(QUICKDM, "create", "scale", "--table", table(chunk, chunks))


def message(*words):
    return run(QUICKDM, "message", "scale", 0, *words)


def status():
    return run(QUICKDM, "status", "scale").split()


def took(fn, *args):
    start = time.monotonic()
    fn(*args)
    return round(time.monotonic() - start, 4)


def median(seconds, *args):
    return statistics.median(seconds(*args) for _ in range(15))


def fio(**options):
    words = {"name": "scale", "filename": DEV, "direct": 1, "ioengine": "libaio", "thread": None,
             "norandommap": None, "output-format": "json", **options}
    return json.loads(run("fio", *(f"--{k}" if v is None else f"--{k}={v}"
                                   for k, v in words.items())))["jobs"][0]


def kernel_memory():
    """Bytes of slabs that stay, of per-CPU memory, of large arrays"""
    return sum(int(line.split()[1]) * KIB for line in read("/proc/meminfo").splitlines()
               if line.split(":")[0] in ("SUnreclaim", "Percpu", "VmallocUsed"))


def cached_metadata():
    return int(read("/sys/module/dm_bufio/parameters/current_allocated_bytes"))


def worked():
    """Seconds that the kernel's workers have been on a CPU"""
    ns = 0
    for path in glob.glob("/proc/[0-9]*/schedstat"):
        try:
            if read(os.path.dirname(path) + "/comm").startswith("kworker"):
                ns += int(read(path).split()[0])
        except OSError:		# it has ended
            pass
    return ns / 1e9


# ---------------------------------------------------------------- what is measured

def activation(r, chunk, chunks):
    run("modprobe", "dm-tier")
    before = kernel_memory() + cached_metadata()
    r["activation, s"] = took(activate, chunk, chunks)
    r["memory, bytes a chunk"] = round((kernel_memory() + cached_metadata() - before) / chunks, 2)
    used = int(status()[4].split("/")[0]) * 4096
    r["metadata, bytes a chunk"] = round(used / chunks, 2)


def heat_is_read(r, chunk, chunks):
    """In the background, beside which the disk is slower"""
    def until_quiet():
        before = -1
        while before != (now := int(read(stat).split()[0])):
            before = now
            time.sleep(1)
    stat = f"/sys/class/block/{os.path.basename(os.path.realpath(os.environ['DISK1']))}/stat"
    r["heat is read, s"] = took(until_quiet)


def change_heat(chunk, chunks):
    """Reads a chunk of each block of heat, slowly enough that no read is passed over"""
    step = 1000 * chunk * 512
    fio(rw="read", bs="4k", zonemode="strided", zonesize="4k", zoneskip=step - 4096,
        io_size=f"{4 * max(chunks // 1000, 1)}k", rate_iops=4000)


def suspended():
    def both():
        run(QUICKDM, "suspend", "scale")
        run(QUICKDM, "resume", "scale")
    return took(both)


def suspend(r, chunk, chunks):
    change_heat(chunk, chunks)
    time.sleep(1)
    r["suspend and resume, heat changed, s"] = suspended()
    r["suspend and resume again, s"] = median(suspended)


def rename(r, chunk, chunks):
    """As tierctl rename does it"""
    def renamed():
        run("dmsetup", "rename", "scale", "renamed")
        run("dmsetup", "rename", "renamed", "scale")
        run(QUICKDM, "load", "scale", "--table", table(chunk, chunks))
        run(QUICKDM, "suspend", "scale")
        run(QUICKDM, "resume", "scale")
    r["rename, s"] = median(took, renamed)


def pin(r, chunk, chunks):
    """Those that are pinned lie where they should"""
    places = iter(range(chunks // 41, chunks, chunks // 41))

    def after_suspend():
        suspended()
        return pinned(next(places))
    r["a pinned chunk moves, s"] = median(lambda: pinned(next(places)))
    r["and right after a suspend, s"] = median(after_suspend)


def pinned(at):
    while "pin -" not in (said := message("chunk", at)):
        at += 1
    rank = 1 - int(said.split()[1])

    def until_there():
        message("pin", at, 1, rank)
        while int(message("chunk", at).split()[1]) != rank:
            time.sleep(0.005)
    return took(until_there)


def heat_query(r, chunk, chunks):
    r["heat of all in 256 parts, s"] = took(message, "heat", 0, chunks, 256)


def policy(r, chunk, chunks):
    """A thousand random reads a second all over the set"""
    before = worked()
    fio(rw="randread", bs="4k", runtime=10, time_based=None, rate_iops=1000, random_generator="tausworthe64")
    r["workers, of a CPU"] = round((worked() - before) / 10, 5)


def discard(r, chunk, chunks):
    """fsync of writes to the last tenth while the rest is discarded, 10^6 chunks at most. The disk
    image has what they write to, so that it does not grow by them."""
    length = chunk * chunks * 512
    rest = length // 10 // MIB * MIB
    discarded = min(length - rest, 10 ** 6 * chunk * 512)
    area = {"offset": length - rest, "size": min(rest, 256 * MIB)}
    fio(rw="write", bs="1m", **area)
    writes = {"rw": "randwrite", "bs": "4k", "fsync": 1, "time_based": None,
              "random_generator": "tausworthe64", **area}

    def fsync():
        ns = fio(runtime=3, **writes)["sync"]["lat_ns"]
        return [round(n / 1e6, 2) for n in (ns["percentile"]["99.000000"], ns["max"])]
    r["fsync p99, ms"], r["longest fsync, ms"] = fsync()
    most = before = kernel_memory()
    most_cached = cached = cached_metadata()
    beside = []

    def load():
        while thread.is_alive() or not beside:
            beside.append(fsync())
    start = time.monotonic()
    thread = threading.Thread(target=run, args=("blkdiscard", "-l", discarded, DEV))
    thread.start()
    writer = threading.Thread(target=load)
    writer.start()
    while thread.is_alive():
        most = max(most, kernel_memory())
        most_cached = max(most_cached, cached_metadata())
        time.sleep(0.05)
        r["discard, s"] = round(time.monotonic() - start, 3)
    writer.join()
    r["fsync p99 beside the discard, ms"], r["longest one, ms"] = map(max, zip(*beside))
    r["memory grows by, MiB"] = round((most - before) / MIB, 1)
    r["cache of metadata grows by, MiB"] = round((most_cached - cached) / MIB, 1)


def measure(chunk, chunks, path):
    r = {"chunks": chunks, "chunk, KiB": chunk // 2}
    for step in (activation, heat_is_read, heat_query, suspend, rename, pin, policy, discard):
        step(r, chunk, chunks)
        print(json.dumps(r), flush=True)
    run(QUICKDM, "remove", "--retry", "scale")
    with open(path, "w") as f:
        f.write(json.dumps(r) + "\n")


def make(chunk):
    activate(chunk, 64)
    run(QUICKDM, "remove", "--retry", "scale")


if __name__ == "__main__":
    os.environ["DM_DISABLE_UDEV"] = "1"
    run("udevadm", "settle")
    run("udevadm", "control", "--exit")
    if os.path.exists("/run/udev/control"):
        os.unlink("/run/udev/control")
    if sys.argv[1] == "make":
        make(int(sys.argv[2]))
    else:
        measure(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

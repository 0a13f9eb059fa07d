"""The same ring all-reduce as ring.c, from Python by ctypes. Usage: python3 ring.py target/release/libxoff_c.so"""

import ctypes as c
import sys

RANKS, PART, FOREVER, DELIVERED = 8, 100_000, 2**64 - 1, 2
SCENARIO = b"""
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"
[host]
frame_max = "1048B"
header = "48B"
[flow_control]
kind = "pfc"
"""


class Event(c.Structure):
    _fields_ = [("time_ps", c.c_uint64), ("id", c.c_uint64), ("tag", c.c_uint64), ("what", c.c_uint32), ("reserved", c.c_uint32)]


lib = c.CDLL(sys.argv[1])
lib.xoff_new.restype, lib.xoff_new.argtypes = c.c_void_p, [c.c_char_p, c.c_char_p, c.c_uint8]
lib.xoff_error.restype, lib.xoff_error.argtypes = c.c_char_p, [c.c_void_p]
lib.xoff_host.restype, lib.xoff_host.argtypes = c.c_int64, [c.c_void_p, c.c_char_p]
lib.xoff_send.restype, lib.xoff_send.argtypes = c.c_int64, [c.c_void_p, c.c_uint32, c.c_uint32, c.c_uint64, c.c_uint8, c.c_uint32, c.c_uint64]
lib.xoff_next.restype, lib.xoff_next.argtypes = c.c_int, [c.c_void_p, c.c_uint64, c.POINTER(Event)]
lib.xoff_free.argtypes = [c.c_void_p]

net = lib.xoff_new(SCENARIO, None, 1 << 3)
if not net:
    sys.exit(lib.xoff_error(None).decode())
hosts = [lib.xoff_host(net, f"H{i}".encode()) for i in range(RANKS)]
steps, end, event = [0] * RANKS, 0, Event()


def send(rank: int) -> None:
    to = (rank + 1) % RANKS
    if lib.xoff_send(net, hosts[rank], hosts[to], PART, 3, 0, to) < 0:
        sys.exit(lib.xoff_error(net).decode())


for rank in range(RANKS):
    send(rank)
while lib.xoff_next(net, FOREVER, event) == 1:
    if event.what == DELIVERED:
        end = event.time_ps
        steps[event.tag] += 1
        if steps[event.tag] < 2 * (RANKS - 1):
            send(event.tag)
print(f"{2 * (RANKS - 1)} steps, {end} ps")
lib.xoff_free(net)

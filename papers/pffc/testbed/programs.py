"""Programs of mice and elephants over the TCP of the kernel.

serve PORT                      receives messages, each after its length, and confirms each with one byte
elephant ADDRESS PORT CONTROL   sends one message without end
mice ADDRESS PORT CONTROL SEED SETTLE SECONDS SIZE:PER_SECOND ...
    sends messages at random times, each over a connection that is open before; prints for each its size, its start and the time until the
    receiving program confirmed it, in seconds
"""

import random
import socket
import struct
import sys
import threading
import time


def take(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        head = connection.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return
        (left,) = struct.unpack("!Q", head)
        while left:
            data = connection.recv(min(left, 1 << 18))
            if not data:
                return
            left -= len(data)
        connection.sendall(b".")
        connection.recv(1)


def serve(port: int) -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("", port))
    listening.listen(1000)
    while True:
        threading.Thread(target=take, args=(listening.accept()[0],), daemon=True).start()


def connected(address: str, port: int, control: str) -> socket.socket:
    for _ in range(100):
        s = socket.socket()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            s.connect((address, port))
            return s
        except ConnectionRefusedError:
            # The other program has not begun to listen.
            s.close()
            time.sleep(0.1)
    sys.exit(f"no program listens at {address}")


def elephant(address: str, port: int, control: str) -> None:
    s = connected(address, port, control)
    s.sendall(struct.pack("!Q", 1 << 62))
    while True:
        s.sendall(bytes(1 << 16))


def mice(address: str, port: int, control: str, seed: int, settle: float, seconds: float, kinds: list[tuple[int, float]]) -> None:
    dice = random.Random(seed)
    starts = []
    for size, rate in kinds:
        at = dice.expovariate(rate)
        while at < seconds:
            starts.append((at, size))
            at += dice.expovariate(rate)
    began = time.monotonic() + settle
    done: list[tuple[int, float, float]] = []

    def one(at: float, size: int) -> None:
        s = connected(address, port, control)
        time.sleep(max(0.0, began + at - time.monotonic()))
        start = time.monotonic()
        s.sendall(struct.pack("!Q", size - 8 if size > 8 else 0) + bytes(size - 8))
        s.recv(1)
        done.append((size, start - began, time.monotonic() - start))
        s.close()

    threads = []
    for at, size in sorted(starts):
        # The connection is made before its message begins.
        time.sleep(max(0.0, began + at - 0.3 - time.monotonic()))
        threads.append(threading.Thread(target=one, args=(at, size)))
        threads[-1].start()
    for t in threads:
        t.join(20)
    for size, start, took in sorted(done, key=lambda d: d[1]):
        print(size, f"{start:.6f}", f"{took:.6f}")
    print("begun", len(starts), "done", len(done), flush=True)


def main(what: str, *args: str) -> None:
    if what == "serve":
        serve(int(args[0]))
    elif what == "elephant":
        elephant(args[0], int(args[1]), args[2])
    else:
        kinds = [(int(size), float(rate)) for size, rate in (k.split(":") for k in args[6:])]
        mice(args[0], int(args[1]), args[2], int(args[3]), float(args[4]), float(args[5]), kinds)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A verifier for ``simlab certify --command "python verifier.py"``: protocol version 1.

Contracts verify and chain_uniforms. Copy it, and put your own in place of ``verify``."""

import sys

import numpy as np


def verify(p, q, drafts, coins):
    """Speculative sampling; ``coins`` are gamma + 1 uniforms in [0, 1)."""
    for i, x in enumerate(drafts):
        if coins[i] * q[i, x] >= p[i, x]:  # rejected
            left = np.maximum(p[i] - q[i], 0)
            return [*drafts[:i], draw(left if left.any() else p[i], coins[-1])]
    return [*drafts, draw(p[-1], coins[-1])]


def draw(weights, coin):
    upto = np.cumsum(weights)
    return min(int(np.searchsorted(upto, coin * upto[-1], side="right")), int(np.flatnonzero(weights)[-1]))


def read(length):
    data = sys.stdin.buffer.read(length)
    if len(data) < length:
        sys.exit(0)  # the certifier has closed the input
    return data


def main():
    name, version, contract, seed = sys.stdin.buffer.readline().decode().split()
    if (name, version) != ("simlab-certify", "1") or contract not in ("verify", "chain_uniforms"):
        sys.exit(f"version {version} of {name}, {contract}: expected version 1, verify or chain_uniforms")
    rng = np.random.default_rng(int(seed))
    print(name, version, contract, flush=True)
    while True:
        words = read(8 * int(np.frombuffer(read(8), "<i8")[0]))
        whole, real = np.frombuffer(words, "<i8"), np.frombuffer(words, "<f8")
        calls, arrays, place, shapes, answer = whole[0], whole[1], 2, [], []
        for _ in range(arrays):
            rank = whole[place]
            shapes.append(tuple(whole[place + 1 : place + 1 + rank]))
            place += 1 + rank
        for _ in range(calls):
            given = []
            for number, shape in enumerate(shapes):
                size = int(np.prod(shape))
                given.append((whole if number == 2 else real)[place : place + size].reshape(shape))
                place += size
            p, q, drafts = given[:3]
            coins = np.append(given[3], given[4]) if contract == "chain_uniforms" else rng.random(len(p))
            tokens = verify(p, q, drafts, coins)
            answer += [len(tokens), *tokens]
        sys.stdout.buffer.write(np.array([len(answer), *answer], "<i8").tobytes())
        sys.stdout.buffer.flush()


main()

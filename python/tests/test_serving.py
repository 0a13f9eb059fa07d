"""Inference over a driven network: closed forms, to the picosecond."""

import time
from fractions import Fraction
from pathlib import Path

import pytest
import xoff
from conftest import interrupt_soon
from xoff._serving import _shares

STAR = """[topology]
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
TX, CABLE = 83_840, 1_000_000
MS = 1_000_000_000
# Two layers; a prompt's token takes 10 us, a step 1 ms.
DENSE = {"layers": 2, "token_bytes": 1_000, "kv_bytes_per_token": 2_000, "prefill_ps_per_token": 10_000_000, "decode_ps_per_step": MS}


def step(frames: int) -> int:
    """A message of so many full frames over one switch."""
    return (frames + 1) * TX + 2 * CABLE


@pytest.fixture
def star(tmp_path: Path) -> Path:
    path = tmp_path / "star.toml"
    path.write_text(STAR)
    return path


def hosts(first: int, n: int) -> list[str]:
    return [f"H{i}" for i in range(first, first + n)]


def times(served: xoff.Served) -> list[list[int]]:
    """Times of the tokens, by request."""
    frame = served.tokens
    return [frame.filter(frame["request"] == r)["time_ps"].to_list() for r in served.requests["request"]]


@pytest.mark.parametrize(("kv_by_layer", "kv"), [(True, step(100)), (False, step(200))])
def test_one_request_takes_the_closed_form(star: Path, kv_by_layer: bool, kv: int) -> None:
    served = xoff.serve(
        star, model=xoff.Model(**DENSE), prefill=[["H0"]], decode=[["H1"]], requests=[xoff.Request(5_000, 100, 3)], kv_by_layer=kv_by_layer
    )
    first = 5_000 + MS
    assert served
    assert times(served) == [[first, first + kv + MS, first + kv + 2 * MS]]
    row = served.requests.row(0, named=True)
    assert (row["start_ps"], row["first_token_network_ps"], row["kv_ps"], row["end_ps"]) == (5_000, 0, first + kv, first + kv + 2 * MS)
    assert served.tokens["network_ps"].to_list() == [0, kv, 0]
    slowest = {step(100): "1.01", step(200): "1.019"}[kv]
    assert served.headline == (
        "1 of 1 requests complete; first token after 1 ms (99th percentile 1 ms), network 0 s (99th percentile 0 s); "
        f"then a token every 1 ms (99th percentile {slowest} ms)"
    )


def test_ranks_exchange_two_rings_a_layer(star: Path) -> None:
    """Four ranks; 40 tokens of 1,000 B are 10 frames a part. One sequence decodes: 250 B a part."""
    served = xoff.serve(star, model=xoff.Model(**DENSE), prefill=[hosts(0, 4)], decode=[hosts(4, 4)], requests=[xoff.Request(0, 40, 3)])
    prompt = 2 * 2 * 6 * step(10)
    token = 2 * 2 * 6 * (2 * (250 + 48) * 80 + 2 * CABLE)
    first, second, third = times(served)[0]
    assert first == 400_000_000 + prompt
    assert third - second == MS + token
    assert served.tokens["network_ps"].to_list()[0::2] == [prompt, token]


def test_first_come_first_served_and_steps_shared(star: Path) -> None:
    """Two prompts queue for one instance; their tokens share steps of the other one, in which each costs 100 us."""
    model = xoff.Model(**(DENSE | {"kv_bytes_per_token": 0, "decode_ps_per_sequence": MS // 10}))
    requests = [xoff.Request(0, 100, 4), xoff.Request(0, 200, 2)]
    served = xoff.serve(star, model=model, prefill=[["H0"]], decode=[["H1"]], requests=requests)
    alone, both = MS * 11 // 10, MS * 12 // 10
    # The second one joins at the first boundary of steps after its prefill, at 3 ms.
    assert times(served) == [[MS, MS + alone, MS + 2 * alone, MS + 2 * alone + both], [3 * MS, MS + 2 * alone + both]]
    limited = xoff.serve(star, model=model, prefill=[["H0"], ["H2"]], decode=[["H1"]], requests=requests, batch_max=1)
    assert times(limited) == [[MS, MS + alone, MS + 2 * alone, MS + 3 * alone], [2 * MS, MS + 4 * alone]]
    assert limited.requests["prefill"].to_list() == [0, 1]


def test_keys_and_values_of_each_rank_go_where_they_are_needed(star: Path, tmp_path: Path) -> None:
    served = xoff.serve(
        star, model=xoff.Model(**(DENSE | {"layers": 1})), prefill=[hosts(0, 2)], decode=[hosts(2, 3)], requests=[xoff.Request(0, 30, 2)], out=tmp_path / "out"
    )
    flows = served.run.flows
    kv = sorted(r for r in flows.select("src", "dst", "size_bytes").rows() if r[0] in hosts(0, 2) and r[1] in hosts(2, 3))
    assert kv == [("H0", "H2", 20_000), ("H0", "H3", 10_000), ("H1", "H3", 10_000), ("H1", "H4", 20_000)]
    assert (tmp_path / "out" / "report.html").exists()


def test_popular_experts_get_more(star: Path, tmp_path: Path) -> None:
    """Zipf's law with exponent 1 on four experts: 12/25, 6/25, 4/25, 3/25 of 400 copies of the tokens of each rank."""

    def received(skew: float) -> list[int]:
        model = xoff.Model(**(DENSE | {"layers": 1, "kv_bytes_per_token": 0}), experts=4, experts_per_token=2, expert_skew=skew)
        served = xoff.serve(star, model=model, prefill=[hosts(0, 4)], decode=[["H4"]], requests=[xoff.Request(0, 800, 1)], out=tmp_path / f"{skew}")
        # Rings have messages of 200,000 B; what comes back is as much as went there.
        rows = [r for r in served.run.flows.select("src", "dst", "size_bytes").rows() if r[2] != 200_000]
        assert sum(size for *_, size in rows) == 2 * 3 * 400_000
        return sorted(next(size for src, dst, size in rows if dst == host) for host in hosts(0, 4))

    assert received(0.0) == [100_000] * 4
    assert received(1.0) == [48_000, 64_000, 96_000, 192_000]


@pytest.mark.parametrize(("ranks", "tokens", "experts", "each"), [(8, 8, 8, 2), (4, 8, 4, 1), (8, 16, 64, 4)])
def test_few_tokens_go_to_all_experts(ranks: int, tokens: int, experts: int, each: int, star: Path, tmp_path: Path) -> None:
    """Without skew each rank receives equally many copies, within one of each sender."""
    model = xoff.Model(**(DENSE | {"layers": 1, "kv_bytes_per_token": 0}), experts=experts, experts_per_token=each)
    served = xoff.serve(star, model=model, prefill=[hosts(0, ranks)], decode=[["H0"]], requests=[xoff.Request(0, tokens, 1)], out=tmp_path / "out")
    rows = [r for r in served.run.flows.select("src", "dst", "size_bytes", "flow").rows() if r[3] >= ranks * 2 * (ranks - 1)]
    received = [sum(size for _, dst, size, _ in rows if dst == host) // 2_000 for host in hosts(0, ranks)]
    assert max(received) - min(received) <= 1, received


def test_a_token_goes_to_an_expert_once(star: Path, tmp_path: Path) -> None:
    """With as many experts a token as experts, each expert has every token, whatever its popularity."""
    model = xoff.Model(**(DENSE | {"layers": 1, "kv_bytes_per_token": 0}), experts=4, experts_per_token=4, expert_skew=2.0)
    served = xoff.serve(star, model=model, prefill=[hosts(0, 4)], decode=[["H4"]], requests=[xoff.Request(0, 800, 1)], out=tmp_path / "out")
    sizes = {(src, dst): size for src, dst, size, flow in served.run.flows.select("src", "dst", "size_bytes", "flow").rows() if flow >= 24}
    assert set(sizes.values()) == {200_000}
    assert len(sizes) == 12


@pytest.mark.parametrize(("experts", "each", "skew"), [(64, 64, 10.0), (256, 256, 8.0), (256, 255, 8.0), (64, 8, 5.0), (8, 7, 3.0)])
def test_shares_of_experts_add_up_however_skewed(experts: int, each: int, skew: float) -> None:
    """Exact fractions: each expert gets its share of the copies that are left, and no more than one of each token."""
    model = xoff.Model(layers=1, token_bytes=1, kv_bytes_per_token=1, prefill_ps_per_token=1, decode_ps_per_step=1, experts=experts, experts_per_token=each, expert_skew=skew)
    weights = [Fraction((e + 1) ** -skew) for e in range(experts)]
    left, exact = Fraction(each), []
    for e, w in enumerate(weights):
        exact.append(min(Fraction(1), left * w / sum(weights[e:])))
        left -= exact[-1]
    assert left == 0
    assert [s * each for s in _shares(model)] == pytest.approx([float(x) for x in exact], abs=1e-9)


def test_sequences_that_are_ready_together_share_a_step(star: Path) -> None:
    model = xoff.Model(**(DENSE | {"kv_bytes_per_token": 0}))
    served = xoff.serve(star, model=model, prefill=[["H0"], ["H1"]], decode=[["H2"]], requests=[xoff.Request(0, 100, 2)] * 2)
    assert times(served) == [[MS, 2 * MS]] * 2


@pytest.mark.parametrize("control", ["pfc", "cbfc", "gfc-time", "uec-cbfc"])
def test_a_cut_network_is_named(star: Path, control: str) -> None:
    """Receivers of some flow controls send credits for ever."""
    cut = star.with_name("cut.toml")
    cut.write_text(STAR.replace('"pfc"', f'"{control}"') + '[[failure]]\nlink = "H0-S1"\nat = "10us"\n')
    served = xoff.serve(cut, model=xoff.Model(**DENSE), prefill=[["H0"]], decode=[["H1"]], requests=[xoff.Request(0, 100, 2)])
    assert not served
    assert "a message is lost or has no route" in served.headline


def test_a_service_without_messages_has_no_results(star: Path, tmp_path: Path) -> None:
    model = xoff.Model(**DENSE | {"kv_bytes_per_token": 0})
    served = xoff.serve(star, model=model, prefill=[["H0"]], decode=[["H1"]], requests=[xoff.Request(0, 100, 2)], out=tmp_path / "out")
    assert served
    assert served.run is None
    assert not (tmp_path / "out").exists()


def test_a_deadlock_ends_it() -> None:
    """The flows of the scenario deadlock at 2.795 ms. The detector sees it at its next poll."""
    request = xoff.Request(0, 1_000, 2)
    served = xoff.serve("scenarios/tutorial/ring.toml", model=xoff.Model(**DENSE), prefill=[["H1"]], decode=[["H2"]], requests=[request])
    assert not served
    assert served.headline == "0 of 1 requests complete; stopped at 2.8 ms by a deadlock"
    assert served.requests["end_ps"].to_list() == [None]


def test_poisson_requests_have_their_rate() -> None:
    requests = xoff.poisson_requests(1_000, 20_000, prompt_tokens=10, output_tokens=2, seed=3)
    assert requests == xoff.poisson_requests(1_000, 20_000, prompt_tokens=10, output_tokens=2, seed=3)
    assert requests[-1].arrival_ps / 20_000 == pytest.approx(MS, rel=0.03)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"prefill": ["H0"]}, "prefill: expected lists of hosts"),
        ({"decode": [["H0", "H0"]]}, "decode: an instance has the same host twice"),
        ({"decode": [["S1"]]}, "decode: there is no host 'S1'"),
        ({"requests": []}, "requests: expected one or more"),
        ({"requests": [xoff.Request(0, 0, 1)]}, r"requests\[0\]\.prompt_tokens: expected 1 to"),
        ({"batch_max": 0}, "batch_max: expected 1 to"),
        ({"priority": 8}, "priority: expected 0 to 7"),
        ({"requests": [(1, 2)]}, r"requests\[0\]: expected an xoff.Request"),
        ({"prefill": [[["H0"]]]}, "prefill: expected lists of hosts"),
        ({"model": None}, "model: expected an xoff.Model"),
    ],
)
def test_what_cannot_be_is_refused(star: Path, change: dict, expected: str) -> None:
    good = {"model": xoff.Model(**DENSE), "prefill": [["H0"]], "decode": [["H1"]], "requests": [xoff.Request(0, 1, 1)]}
    with pytest.raises((ValueError, TypeError), match=expected):
        xoff.serve(star, **(good | change))


@pytest.mark.parametrize(("key", "value"), [("layers", 0), ("layers", 2**63), ("kv_bytes_per_token", 2**63), ("token_bytes", 1.5), ("expert_skew", float("nan")), ("experts_per_token", 5)])
def test_models_that_cannot_be_are_refused(key: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError), match=key):
        xoff.Model(**(DENSE | {"experts": 4, key: value}))
    with pytest.raises(ValueError, match="rate_per_s"):
        xoff.poisson_requests(0, 1, prompt_tokens=1, output_tokens=1)


def test_ctrl_c_ends_it(star: Path) -> None:
    """One message of keys and values that takes hours."""
    model = xoff.Model(layers=1, token_bytes=1, kv_bytes_per_token=10**9, prefill_ps_per_token=1, decode_ps_per_step=1)
    interrupt_soon()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        xoff.serve(star, model=model, prefill=[["H0"]], decode=[["H1"]], requests=[xoff.Request(0, 1_000, 2)])
    assert time.monotonic() - began < 5

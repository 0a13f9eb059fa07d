"""Figures: they are made without pyplot and name what is missing."""

import sys
from pathlib import Path

import matplotlib.image
import pytest
import xoff

pytestmark = pytest.mark.filterwarnings("ignore::xoff.ScenarioWarning")


def texts(figure: object) -> str:
    from matplotlib.figure import Figure

    assert isinstance(figure, Figure)
    found = [t.get_text() for axes in figure.axes for t in axes.texts]
    legends = [axes.get_legend() for axes in figure.axes]
    return "\n".join(found + [t.get_text() for legend in legends if legend is not None for t in legend.get_texts()])


def test_a_deadlock_is_marked(pfc: xoff.Run, tmp_path: Path) -> None:
    figure = pfc.plot()
    assert "deadlock at 2.795 ms\nS1->S2 S2->S3 S3->S1" in texts(figure)
    assert "flow 0: H1 to H3" in texts(figure)
    assert [axes.get_ylabel() for axes in figure.axes] == ["Ingress queue [KB]", "Rate of flow [Gb/s]"]
    assert figure.axes[1].get_xlabel() == "Time [ms]"
    file = tmp_path / "ring.png"
    figure.savefig(file)
    height, width, _ = matplotlib.image.imread(file).shape
    assert 700 <= width <= 2000 and 400 <= height <= 1500
    assert 10_000 < file.stat().st_size < 500_000
    assert "matplotlib.pyplot" not in sys.modules, "a figure must not start a user interface"


def test_ports_can_be_chosen(pfc: xoff.Run) -> None:
    figure = pfc.plot(ports=["S1->S2", "H1->S1"])
    assert figure.axes[1].get_ylabel() == "Rate of port [Gb/s]"
    assert len(figure.axes[0].get_legend().get_texts()) == 2  # type: ignore[union-attr]
    assert "S1->S2" in texts(pfc.plot("S1->S2"))
    with pytest.raises(ValueError, match=r"there is no port 'S1->S9' \(did you mean 'S1->S"):
        pfc.plot(ports=["S1->S9"])


def test_a_run_without_probes_is_reported(ring: Path) -> None:
    nothing = {"interval": "0us", "queues": [], "rates": [], "flow_rates": False}
    run = xoff.run(ring, probes=nothing, run__duration="1ms")
    shown = texts(run.plot(kind="time"))
    assert "no queues were recorded: probes.interval" in shown
    assert "no rates were recorded: probes.interval" in shown


def test_notebooks_get_an_image(pfc: xoff.Run) -> None:
    assert pfc.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]

"""On an NVIDIA card: the CPU's numbers within what cards round, which device answered, and columns by DLPack in torch."""

import numpy as np
import pytest

import beamsight
from conftest import CPU

TG119 = dict(goals="tg119-c-shape", beamlets=10, grid=6, quality="fast")


@pytest.fixture(scope="module")
def card(water):
    try:
        return beamsight.dose(water, grid=8, quality="fast", device="cuda")
    except beamsight.errors.Error as why:
        pytest.skip(f"no card: {why}")


def test_a_dose_says_which_card_computed_it(water, card):
    cpu = beamsight.dose(water, grid=8, quality="fast", **CPU)
    assert card.devices and all("cuda" in device for device in card.devices), card
    assert np.abs(card.gy - cpu.gy).max() < 2e-3 * cpu.max_gy
    gamma = beamsight.gamma(cpu, card, 1, 1, device="cuda")
    assert "cuda" in gamma.receipt["device"] and gamma.pass_rate_percent == 100


def test_columns_leave_the_card_by_dlpack(card):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no card")
    found = beamsight.influence("demo:tg119", device="cuda", **TG119)
    parts = found.on_card()
    assert sum(part.shape[0] for part in parts) == found.influence.shape[0]
    tensors = [torch.from_dlpack(part) for part in parts]
    assert all(tensor.is_cuda and tensor.dtype == torch.int16 for tensor in tensors)
    scales = [torch.from_numpy(part.gy_per_step).cuda() for part in parts]
    columns = torch.cat([tensor.float() * scale[:, None] for tensor, scale in zip(tensors, scales)])
    assert np.array_equal(columns.cpu().numpy(), found.influence)
    # A step of a search on the card, by torch's own gradient.
    fluences = torch.from_numpy(np.array(found.fluences)).float().cuda().requires_grad_()
    rows = torch.from_numpy(found.structures["PTV"][0].astype(np.int64)).cuda()
    loss = ((fluences @ columns)[rows] - 50).square().mean()
    loss.backward()
    assert torch.isfinite(fluences.grad).all() and fluences.grad.abs().max() > 0
    # The tensors outlive everything that they came from.
    before = tensors[0].sum().item()
    del found, parts, columns
    assert tensors[0].sum().item() == before


def test_on_the_cpu_no_column_lies_on_a_card():
    found = beamsight.influence("demo:tg119", **{**TG119, "rows": 8, "grid": 8}, **CPU)
    assert found.on_card() == []

"""What wraps a model: precision, compilers, processes, exports."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import approxtrain
import pytest
import torch
from networks import gradients, images, labels, small
from torch import nn

METHOD = "stochastic_pruning:p=0.9"


def test_autocast_computes_in_its_precision():
    exact, model = small(), small()
    approxtrain.apply(model, "exact", skip_first=False)
    for one in (exact, model):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = one(images())
        assert y.dtype == torch.bfloat16
        nn.functional.cross_entropy(y.float(), labels()).backward()
    for (name, one), other in zip(exact.named_parameters(), model.parameters()):
        assert other.grad.dtype == torch.float32
        torch.testing.assert_close(other.grad, one.grad, rtol=0.1, atol=0.02, msg=name)


def test_a_loss_scale_cancels():
    model, scaled = small(), small()
    for one in (model, scaled):
        approxtrain.apply(one, METHOD)
    wanted = gradients(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(scaled.parameters(), lr=0.1)
    before = scaled[3].weight.detach().clone()
    scaler.scale(nn.functional.cross_entropy(scaled(images()), labels())).backward()
    scaler.unscale_(optimizer)
    for name, parameter in scaled.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name], rtol=1e-4, atol=1e-6)
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(scaled[3].weight, before)


def test_a_compiled_model_draws_anew_in_each_step():
    model, compiled = small(), small()
    for one in (model, compiled):
        approxtrain.apply(one, METHOD, skip_first=False)
    faster = torch.compile(compiled, backend="eager")
    seen = []
    for _ in range(3):
        wanted = gradients(model)
        got = gradients(faster)
        assert all(torch.equal(got["_orig_mod." + name], one) for name, one in wanted.items())
        seen.append(wanted["3.weight"])
    assert not torch.equal(seen[0], seen[1]) and set(approxtrain.steps(compiled).values()) == {3}


def test_what_has_no_derivative_says_so():
    model = nn.Sequential(nn.Conv2d(3, 4, 3))
    approxtrain.apply(model, METHOD, skip_first=False)
    weights, forward = dict(model.named_parameters()), torch.autograd.forward_ad
    with pytest.raises(RuntimeError, match="^0: x is a wrapped tensor"):
        torch.func.grad(lambda weights: torch.func.functional_call(
            model, weights, (images(),)).sum())(weights)
    with pytest.raises(RuntimeError, match="^0: x is a dual tensor"), forward.dual_level():
        model(forward.make_dual(images(), images()))
    with pytest.raises(RuntimeError, match="call backward without create_graph"):
        torch.autograd.grad(model(images()).sum(), list(weights.values()), create_graph=True)
    model.eval()
    torch.autograd.grad(model(images()).square().sum(), model[0].weight, create_graph=True)


def test_the_plain_model_is_exported(tmp_path):
    model = small()
    approxtrain.apply(model, METHOD)
    gradients(model)
    approxtrain.remove(model)
    plain = small()
    plain.load_state_dict(model.state_dict())
    traced, wanted = torch.jit.trace(model.eval(), images()), plain.eval()(images())
    assert torch.equal(traced(images()), wanted)
    pytest.importorskip("onnx")
    torch.onnx.export(model, (images(),), tmp_path / "model.onnx", dynamo=False)
    assert (tmp_path / "model.onnx").stat().st_size > 1000


def test_torch_export_of_an_approximated_model_in_evaluation():
    model = small().eval()
    wanted = model(images())
    approxtrain.apply(model, METHOD)
    program = torch.export.export(model, (images(),))
    torch.testing.assert_close(program.module()(images()), wanted)


@pytest.mark.slow
def test_ranks():
    """Two processes, by DDP and by FSDP2: equal weights after each step, draws of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("ranks.py")
    folders = [str(Path(__file__).parent), *sys.path]
    ranks = [subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1",
                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                        "PYTHONPATH": os.pathsep.join(folders)}) for rank in range(2)]
    try:
        said = [rank.communicate(timeout=120)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(said)
    assert all("agree" in one for one in said), "\n".join(said)

"""One process of test_wrappers.test_ranks: trains by DDP and by FSDP2 over gloo, checks itself."""

import datetime
import os

import approxtrain
import torch
import torch.distributed as dist
from networks import gradients, images, small
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
METHOD = "crs:ratio=0.5"


def gathered(tensor):
    parts = [torch.empty_like(tensor) for _ in range(2)]
    dist.all_gather(parts, tensor.contiguous())
    return parts


# The ranks' own gradients for the same images: their draws differ.
alone = small()
approxtrain.apply(alone, METHOD, skip_first=False)
own = gradients(alone)
first, second = gathered(own["3.weight"])
assert not torch.equal(first, second), "the ranks draw alike"


def ddp(model):
    trained = torch.nn.parallel.DistributedDataParallel(model)
    return trained, lambda tensor: tensor.detach()


def fsdp(model):
    mesh = init_device_mesh("cpu", (2,))
    for at in (3, 6):
        fully_shard(model[at], mesh=mesh)
    return fully_shard(model, mesh=mesh), lambda tensor: tensor.full_tensor().detach()


def train(wrap):
    model = small()
    approxtrain.apply(model, METHOD, skip_first=False)
    trained, whole = wrap(model)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    torch.nn.functional.cross_entropy(trained(images()), torch.arange(4)).backward()
    torch.testing.assert_close(whole(model[3].weight.grad), (first + second) / 2, rtol=1e-4,
                               atol=1e-6)
    optimizer.step()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(trained(images()), torch.arange(4)).backward()
    one, other = gathered(whole(model[3].weight))
    assert torch.equal(one, other), "the weights differ"
    assert set(approxtrain.steps(model).values()) == {2}
    return model


train(ddp)
try:
    approxtrain.remove(train(fsdp))
except ValueError as error:
    assert str(error).startswith("0: is a FSDP") or str(error).startswith("3: is a FSDP"), error
else:
    raise AssertionError("remove changed a sharded model")
dist.barrier()
print("agree", flush=True)
os._exit(0)  # gloo's threads may end the process by a signal otherwise

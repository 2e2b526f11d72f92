"""Outputs from inside a model: `create_feature_extractor` and `get_graph_node_names`.

torchvision traces the model's forward into a graph whose nodes are operations too. Here a node is a module, named by
its path, and hooks collect what it gives; the model runs whole.
"""

from collections import OrderedDict

from rushlight import nn

__all__ = ["create_feature_extractor", "get_graph_node_names"]


def create_feature_extractor(
    model,
    return_nodes=None,
    train_return_nodes=None,
    eval_return_nodes=None,
    tracer_kwargs=None,
    suppress_diff_warning=False,
    concrete_args=None,
):
    """A module that runs `model` and returns {name: output} of the nodes wanted.

    return_nodes: {node: name in the result}, or a list of nodes. A node is a submodule's path, such as
    'layer4' or 'layer4.1.relu'. train_return_nodes and eval_return_nodes, both or
    neither, differ between training and evaluation.

    Raises ValueError for a node that is no module's path, NotImplementedError for tracer_kwargs and concrete_args.
    """
    if tracer_kwargs or concrete_args:
        raise NotImplementedError("create_feature_extractor: tracer_kwargs and concrete_args are not implemented")
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    train = _as_dict(return_nodes if return_nodes is not None else train_return_nodes)
    evaluation = _as_dict(return_nodes if return_nodes is not None else eval_return_nodes)
    return FeatureExtractor(model, train, evaluation)


def get_graph_node_names(model, tracer_kwargs=None, suppress_diff_warning=False, concrete_args=None):
    """(names in training, names in evaluation) of the nodes that `create_feature_extractor` knows: all submodules."""
    if tracer_kwargs or concrete_args:
        raise NotImplementedError("get_graph_node_names: tracer_kwargs and concrete_args are not implemented")
    names = [name for name, _ in model.named_modules() if name]
    return names, list(names)


def _as_dict(nodes):
    pairs = nodes.items() if hasattr(nodes, "items") else ((node, node) for node in nodes)
    return {str(node): str(name) for node, name in pairs}


class FeatureExtractor(nn.Module):
    """What `create_feature_extractor` returns. The model's children are its own, under their names."""

    def __init__(self, model, train_nodes, eval_nodes):
        super().__init__()
        modules = dict(model.named_modules())
        for node in (*train_nodes, *eval_nodes):
            if node not in modules:
                raise ValueError(
                    f"node: '{node}' is not present in model. Hint: use `get_graph_node_names` to make sure the "
                    f"`return_nodes` you specified are present (nodes are submodules here). It may even be that you "
                    f"need to specify `train_return_nodes` and `eval_return_nodes` separately."
                )
        for name, child in model.named_children():
            self.add_module(name, child)
        self.__dict__["_model"] = model  # not a child: the state dict has the model's own keys
        self._nodes = {True: train_nodes, False: eval_nodes}
        self.train(model.training)

    def train(self, mode=True):
        super().train(mode)
        if "_model" in self.__dict__:
            self._model.training = mode
        return self

    def forward(self, *args, **kwargs):
        nodes = self._nodes[self.training]
        modules = dict(self._model.named_modules())
        found = {}
        hooks = [modules[node].register_forward_hook(_keeper(found, node)) for node in nodes]
        try:
            self._model(*args, **kwargs)
        finally:
            for hook in hooks:
                hook.remove()
        return OrderedDict((name, found[node]) for node, name in nodes.items())


def _keeper(found, node):
    def keep(module, inputs, output):
        found[node] = output

    return keep

"""The activations that fused convolutions and matrix products apply to a sum before they store it."""

# In the order of activation.h. GeluTanh is Gelu with approximate="tanh".
NAMES = ("", "Relu", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "Swish", "Gelu", "GeluTanh", "Mish", "Elu")


cdef int activation(Activation* how, str name, alpha, beta) except -1:
    """Fill in an activation by its name; alpha and beta are those of the operator, of Clip the least and the greatest."""
    if name not in NAMES:
        raise ValueError(f"no activation {name!r}; there are {', '.join(NAMES[1:])}")
    how.kind, how.alpha, how.beta = NAMES.index(name), alpha, beta
    return 0

/* What becomes of a sum before it is stored: the activation of a fused convolution or matrix product. */
#ifndef INTERP_ACTIVATE_H
#define INTERP_ACTIVATE_H

/* Named as the operators of the standard; GELU_TANH is Gelu with approximate="tanh". */
typedef enum ActivationKind {
    ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_LEAKY_RELU, ACTIVATION_CLIP, ACTIVATION_HARD_SIGMOID, ACTIVATION_HARD_SWISH,
    ACTIVATION_SIGMOID, ACTIVATION_TANH, ACTIVATION_SWISH, ACTIVATION_GELU, ACTIVATION_GELU_TANH, ACTIVATION_MISH,
    ACTIVATION_ELU, ACTIVATIONS
} ActivationKind;

/* alpha and beta are those of the operator; of Clip the least and the greatest. */
typedef struct Activation {
    int kind;
    double alpha, beta;
} Activation;
#endif

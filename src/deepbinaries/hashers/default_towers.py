"""The networks of every deep method that prescribes none of its own, so that differences come from the method.

A picture is its features as a whole, a sentence goes through TVDB's text-CNN, a text that is a vector through two
layers; each network gives (n, bits) values, the last layer being linear.
"""

from torch import nn

from deepbinaries.hashers.deep import Inputs
from deepbinaries.hashers.heads import Head, NetworkSettings
from deepbinaries.hashers.image_networks import WholePicture
from deepbinaries.hashers.text_networks import TextCNN


def image_tower(inputs: Inputs, net: NetworkSettings) -> nn.Module:
    """The network of pictures: the features of the whole picture to `fc` units to bits.

    >>> image_tower(Inputs(width=6, n_words=9), NetworkSettings(bits=8, fc=4)).head.first
    Linear(in_features=6, out_features=4, bias=True)
    """
    return WholePicture(inputs.width, net)


def text_tower(inputs: Inputs, net: NetworkSettings) -> nn.Module:
    """The network of texts: a text-CNN for token ids, two layers for vectors.

    >>> type(text_tower(Inputs(width=6, n_words=9), NetworkSettings(bits=8))).__name__
    'TextCNN'
    >>> type(text_tower(Inputs(width=6, n_words=0, text_width=5), NetworkSettings(bits=8))).__name__
    'Head'
    """
    if inputs.text_width:
        return Head(inputs.text_width, net, activation="relu")
    return TextCNN(inputs.n_words, net)

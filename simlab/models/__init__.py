"""Real models: architectures, checkpoints, adapters, and the processes that decoders see.

==========================================  =========================================================================
you have                                    you use
==========================================  =========================================================================
a function that gives logits                :class:`~simlab.models.process.from_logits.FromLogits`, and ``check_logits``
a transformer over image tokens             a :class:`~simlab.models.architectures.backbone.Backbone`,
                                            :class:`~simlab.models.process.cached.Cached`, and ``check_model``
many images of it                           :func:`~simlab.models.engine.serve`
a causal language model of transformers     :func:`~simlab.models.generation.simlab_generate`
published files of a text-to-image model    :func:`~simlab.models.text_to_image.text_to_image`
==========================================  =========================================================================

The guide is ``docs/own-models.md``; the two checks are in :mod:`simlab.models.check`.
"""

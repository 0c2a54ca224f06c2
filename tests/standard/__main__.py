"""How much of the standard has a maker."""
from collections import Counter

from .case import MAKERS, triples

every = triples()
wanting = Counter(f"{t.domain or 'ai.onnx'} {t.op}" for t in every if (t.domain, t.op) not in MAKERS)
print(f"{len(every) - wanting.total()} of {len(every)} triples have a maker")
for name, count in sorted(wanting.items()):
    print(f"{name:40} {count}")

"""Fisher's exact test against scipy."""

from __future__ import annotations

import pytest
from scipy.stats import hypergeom

from einstellung.scenes.findings import fisher_exact


@pytest.mark.parametrize(
    "table", [(10, 5, 10, 0), (750, 3, 20_000, 10), (40, 40, 300, 290), (5, 0, 7, 0), (3000, 1800, 20_000, 12_500)]
)
def test_the_exact_test_against_another_implementation(table):
    total, hits, others, other_hits = table
    law = hypergeom(total + others, hits + other_hits, total)
    wanted = min(1, 2 * min(law.sf(hits - 1), law.cdf(hits)))
    assert fisher_exact(*table) == pytest.approx(wanted, rel=1e-6)

"""What tests of the site share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reports.data import models as saved_models
from reports.pages import report
from reports.site import build as site


@pytest.fixture(scope="module")
def own_results_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What comes along is not drawn for every site, which takes long; tests/reports/test_models_page.py draws it."""
    nothing = tmp_path_factory.mktemp("nothing-kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_models, "kept", lambda: None)
        patch.setattr(saved_models, "KEPT_PAIR", nothing)
        patch.setattr(site, "KEPT", nothing)
        patch.setattr(report, "are_stale", lambda out: False)  # tables are drawn beside verdicts that measured nothing
        yield


@pytest.fixture
def own_pages_alone(own_results_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are the pages that every site with claims has; tests/reports/test_pages.py draws them once."""
    monkeypatch.setattr(site, "read_engines", lambda: None)
    monkeypatch.setattr(site.image_methods, "read", lambda: None)

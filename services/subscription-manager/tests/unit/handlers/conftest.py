import pytest
from consent_setup import ConsentSetup


@pytest.fixture
def setup() -> ConsentSetup:
    return ConsentSetup()

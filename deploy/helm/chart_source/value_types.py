"""What the values' models are made of."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

# Any: what Kubernetes defines is passed on as it is, and checked by Kubernetes.
KubernetesObject = dict[str, Any]
KubernetesList = list[dict[str, Any]]
Port = Annotated[int, Field(ge=1, le=65535)]


class Values(BaseModel):
    """One block of the values: camelCase keys, and no other ones."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)

"""The job `blob-access` of docker-compose.yml: what each process may do with which objects of the bucket.

versitygw knows users by its file `users.json`, which `make_identities.py` makes, and gives them nothing but what the
bucket's policy allows. `python allow_blobs.py BUCKET`, with the root user's key and the address in AWS's own variables.
"""

import json
import sys
from typing import Any

import botocore.session

READ, DELETE = "s3:GetObject", "s3:DeleteObject"
WRITE = ("s3:PutObject", "s3:AbortMultipartUpload")
# Process, prefix of the objects' keys, actions. Whoever reads a document's content does not store any.
RIGHTS = (
    ("sync-worker", "documents/", (*WRITE, DELETE)),
    ("ingestion-worker", "documents/", (READ, DELETE)),
    ("ingestion-worker", "archive/", WRITE),
    ("ingestion-api", "documents/", (READ,)),
)


def build_policy(bucket: str) -> str:
    statements = [
        {
            "Effect": "Allow",
            "Principal": {"AWS": [process]},
            "Action": list(actions),
            "Resource": [f"arn:aws:s3:::{bucket}/{prefix}*"],
        }
        for process, prefix, actions in RIGHTS
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def main(bucket: str) -> None:
    client: Any = botocore.session.get_session().create_client("s3")  # makes its methods at run time
    client.put_bucket_policy(Bucket=bucket, Policy=build_policy(bucket))
    print(f"{len({process for process, _, _ in RIGHTS})} processes may use the bucket {bucket}")


if __name__ == "__main__":
    main(sys.argv[1])

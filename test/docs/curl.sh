#!/bin/sh
# The `curl` of the docs: what ports.mjs is for programs of Node. It also prints the status, for run-node.ts.
for file in "$HOLDFAST_DOCS_PORTS"/*; do
  set -- --connect-to ":$(basename "$file"):127.0.0.1:$(cat "$file")" "$@"
done
command -p curl --silent --show-error --write-out '%{stderr}status %{http_code}\n' "$@"

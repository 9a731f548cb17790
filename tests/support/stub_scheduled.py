"""The scheduled records of a stub broker: a dict of them by id, and a clock that the test moves."""

from __future__ import annotations

import json
from typing import Any

from redis_ledger import errors

NOW_MS = 1_000_000


class StubScheduled:
    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.waiting: dict[str, dict[str, Any]] = {}  # id → the record as it was sent, with id and deliver_at_ms
        self.delivered: set[str] = set()
        self.made = 0

    def place(self, partition: int, given: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Those that are due, and where the others wait."""
        due, placed = [], []
        for record in given:
            if "repeat" in record:
                record.setdefault("deliver_after", 3_600_000)
            at_ms = record.get("deliver_at", self.now_ms + record.get("deliver_after", 0))
            if at_ms <= self.now_ms:
                due.append(record)
                continue
            id = f"{partition}:{self.made}.0"
            self.made += 1
            self.waiting[id] = {**record, "id": id, "deliver_at_ms": at_ms}
            placed.append({"id": id, "deliver_at_ms": at_ms})
        return due, placed

    def do(self, method: str, path: str, params: dict[str, str], body: dict[str, Any]) -> dict[str, Any] | None:
        """Path: what follows /scheduled."""
        if path == ":cancel":
            return {"results": [{"id": id, "outcome": self._cancelled(id)} for id in body["ids"]]}
        if path == ":stats":
            total = self._counts(list(self.waiting.values()))
            return {"partitions": [{"partition": 0, **total}], "total": total}
        if path == ":histogram":
            return self._histogram(int(params["bins"]))
        if path == ":rebuild":
            return {"entries": len(self.waiting)}
        if path:
            return self._one(method, path.removeprefix("/"), body)
        if method == "POST":
            due, placed = self.place(body.get("partition", 0), [body])
            delivered = [{"partition": 0, "base_offset": 7, "records": 1}] if due else []
            return {"scheduled": placed, **({"delivered": delivered} if delivered else {})}
        if method == "DELETE":
            gone = len(self.waiting)
            self.waiting.clear()
            return {"cancelled": gone}
        return self._page(params)

    def _one(self, method: str, id: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if id in self.delivered and method != "GET":
            raise errors.AlreadyDelivered()
        if id not in self.waiting:
            raise errors.UnknownScheduled(f"There is no scheduled record {id}.")
        if method == "DELETE":
            del self.waiting[id]
            return None
        if method == "PATCH":
            self.waiting[id]["deliver_at_ms"] = body.get("deliver_at", self.now_ms + body.get("deliver_after", 0))
            return {"id": id, "deliver_at_ms": self.waiting[id]["deliver_at_ms"]}
        return _shown(self.waiting[id])

    def _cancelled(self, id: str) -> str:
        if id in self.delivered:
            return "already_delivered"
        return "unknown" if self.waiting.pop(id, None) is None else "cancelled"

    def _page(self, params: dict[str, str]) -> dict[str, Any]:
        first, limit = int(params.get("after", 0)), int(params["limit"])
        found = [
            _shown(each)
            for each in sorted(self.waiting.values(), key=lambda each: each["deliver_at_ms"])
            if int(params.get("from", 0)) <= each["deliver_at_ms"] < int(params.get("to", 1 << 60))
            and params.get("key", each.get("key")) == each.get("key")
            and params.get("key_base64", each.get("key_base64")) == each.get("key_base64")
        ]
        page: dict[str, Any] = {"scheduled": found[first : first + limit]}
        return {**page, "after": str(first + limit)} if first + limit < len(found) else page

    def _counts(self, found: list[dict[str, Any]]) -> dict[str, int]:
        dues = [each["deliver_at_ms"] for each in found]
        return {"records": len(found), "first_due_ms": min(dues, default=-1), "last_due_ms": max(dues, default=-1)}

    def _histogram(self, bins: int) -> dict[str, Any]:
        dues = [each["deliver_at_ms"] for each in self.waiting.values()]
        begin = min(dues, default=self.now_ms)
        width = -(-(max(dues, default=begin) + 1 - begin) // bins)
        edges = [begin + width * n for n in range(bins)]
        return {
            "bins": [
                {"from_ms": edge, "to_ms": edge + width, "records": sum(edge <= due < edge + width for due in dues)}
                for edge in edges
            ]
        }


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    shown = {name: held for name, held in record.items() if name not in ("deliver_at", "deliver_after", "partition")}
    return {"timestamp_ms": 5, **json.loads(json.dumps(shown))}

"""Who is answered, how, and that nothing outside the given folders can be read."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path

import pytest

from einstellung.errors import InputError
from einstellung.view.api import Api
from einstellung.view.catalogue import Catalogue
from einstellung.view.server import ViewServer, files

from .studies import write_study


@pytest.fixture
def client(tmp_path, serve):
    write_study(tmp_path / "results" / "one", seeds=(1,))
    (tmp_path / "secret.html").write_text("secret")
    return serve(tmp_path / "results")


def test_it_listens_on_loopback_only(client):
    assert client.server.server_address[0] == "127.0.0.1"
    others = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {other for other in others if not other.startswith("127.")}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((address, client.port), timeout=2).close()


@pytest.mark.parametrize("path", ["", "api/studies", "view.js", "page/0/one/report.html"])
def test_the_token_opens_every_address(client, path):
    assert client.get(path)[0].status == 200


@pytest.mark.parametrize("token", ["", "wrong", "{}x", "%s", "%C3%A9"])
@pytest.mark.parametrize("path", ["", "api/studies", "view.js", "page/0/one/report.html"])
def test_without_the_token_nothing_is_said(client, token, path):
    answer, content = client.ask(f"/{token.replace('{}', client.server.token)}/{path}")
    assert (answer.status, content) == (403, b"open the address printed by 'einstellung view', which ends in a token\n")


def test_tokens_differ_from_start_to_start(tmp_path):
    tokens = set()
    for _ in range(3):
        server = ViewServer(Api([tmp_path]))
        tokens.add(server.token)
        server.server_close()
    assert len(tokens) == 3
    assert all(len(token) >= 20 for token in tokens)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("localhost:9000", 200),  # through an SSH tunnel
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("192.168.1.7:{port}", 403),
        ("127.0.0.1:{port}@evil.example", 403),
        ("127.0.0.1:port", 403),
    ],
)
def test_a_name_that_a_web_site_could_point_here_is_refused(client, host, status):
    answer, _ = client.ask(f"/{client.server.token}/api/studies", host=host.format(port=client.port))
    assert answer.status == status


def test_a_request_without_a_host_is_refused(client):
    with socket.create_connection(("127.0.0.1", client.port), timeout=5) as plain:
        plain.sendall(f"GET /{client.server.token}/api/studies HTTP/1.0\r\n\r\n".encode())
        assert b" 403 " in plain.recv(200)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO"])
def test_nothing_but_reading(client, method):
    answer, _ = client.ask(f"/{client.server.token}/api/studies", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["", "api/curves?study=0/one", "page/0/one/report.html", "nothing"])
def test_head_is_get_without_its_content(client, path):
    got, content = client.get(path)
    head, nothing = client.ask(f"/{client.server.token}/{path}", "HEAD")
    assert (head.status, nothing) == (got.status, b"")
    assert head.headers["Content-Length"] == got.headers["Content-Length"] == str(len(content))


@pytest.mark.parametrize(
    "path", ["", "view.css", "api/studies", "api/study?study=9", "page/0/one/report.html", "nothing"]
)
def test_strict_headers_on_every_answer(client, path):
    headers = client.get(path)[0].headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    (policy,) = headers.get_all("Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"https?:|\*|//", policy)
    assert "Access-Control-Allow-Origin" not in headers


def test_a_report_is_served_as_it_is_with_its_script_and_without_a_way_out(client, tmp_path):
    answer, content = client.get("page/0/one/report.html")
    assert content == (tmp_path / "results/one/report.html").read_bytes()
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'unsafe-inline'" in policy
    assert "connect-src" not in policy  # falls back to default-src 'none'
    assert "allow-popups" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "../secret.html",
        "page/../secret.html",
        "page/0/../../secret.html",
        "page/0/%2e%2e/%2e%2e/secret.html",
        "page/0/one/../../../secret.html",
        "page/0/one/..%2f..%2f..%2fsecret.html",
        "page/0/one/config.yaml",
        "page/0/one/score.json",
        "page/0//etc/passwd",
        "page/0/one/report.html/../config.yaml",
        "page/0/one/report.html%00",
        "page/1/one/report.html",
        "page//report.html",
        "page",
        "chart.js/../view.py",
        "index.html",
        "server.py",
    ],
)
def test_no_address_leads_anywhere_else(client, path):
    answer, content = client.get(path)
    assert answer.status == 404
    assert b"secret" not in content


def test_links_out_of_the_folder_are_not_followed(tmp_path, serve):
    outside = write_study(tmp_path / "outside", seeds=(1,), name="hidden")
    inside = write_study(tmp_path / "results" / "one", seeds=(1, 2), scored=False)
    os.symlink(outside, tmp_path / "results" / "linked")
    os.symlink(outside / "report.html", inside / "report.html")
    os.symlink(outside / "score.json", inside / "score.json")
    (inside / "runs" / "sgd-seed2" / "timeline.csv").unlink()
    os.symlink(outside / "runs/sgd-seed1/timeline.csv", inside / "runs/sgd-seed2/timeline.csv")
    client = serve(tmp_path / "results")
    (row,) = client.json("api/studies")["studies"]
    assert (row["label"], row["page"]) == ("results/one", None)
    assert client.get("page/0/one/report.html")[0].status == 404
    assert client.get("page/0/linked/report.html")[0].status == 404
    assert client.json("api/verdict?study=0/one")["verdicts"][0]["stored"] is False
    runs = {(run["method"], run["seed"]): run["state"] for run in client.json("api/study?study=0/one")["runs"]}
    assert runs["sgd", 2] == "unreadable"


def test_a_pipe_in_a_folder_does_not_hang_the_server(tmp_path, serve):
    study = write_study(tmp_path / "results" / "one", seeds=(1,), scored=False)
    os.mkfifo(study / "score.json")
    os.mkfifo(study / "progress.json")
    assert serve(tmp_path / "results").json("api/study?study=0/one")["state"] == "finished"


def test_the_files_of_the_page_are_in_the_package_and_ask_no_other_address(client):
    for name in ("", "view.js", "chart.js", "view.css"):
        text = client.get(name)[1].decode()
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//|@import|url\(|innerHTML|insertAdjacentHTML|eval\(", text)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert {path.name for path in (files("einstellung.view") / "page").iterdir()} == {
        *("index.html", "view.js", "chart.js", "view.css")
    }


def test_unknown_studies_and_wrong_requests_have_a_reason(client):
    answer, content = client.get("api/study?study=0/none")
    assert (answer.status, "no such study" in json.loads(content)["error"]) == (404, True)
    answer, content = client.get("api/compare?study=0/one")
    assert (answer.status, "two to" in json.loads(content)["error"]) == (422, True)


def test_a_port_that_is_taken_is_said_in_one_line(client, tmp_path):
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {client.port}: .*--port"):
        ViewServer(Api([tmp_path]), client.port)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        Catalogue([Path(tmp_path / "nowhere")])

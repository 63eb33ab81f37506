#!/usr/bin/env python3
"""browser_test.py chromium|firefox BUNDLES [SECONDS]: runs page.html in a headless browser; prints "ok NAME" or "not ok NAME".

The page and the bundles are served on 127.0.0.1; the page posts its results. The browser is a child of this process, in a
session of its own with a profile of its own, both of which end with it.
"""
import http.server
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {".js": "text/javascript", ".html": "text/html", ".json": "application/json"}
PREFERENCES = {
    "dom.webgpu.enabled": "true",
    "gfx.webgpu.ignore-blocklist": "true",
    "dom.webgpu.workers.enabled": "true",
    "browser.shell.checkDefaultBrowser": "false",
    "datareporting.policy.dataSubmissionEnabled": "false",
    "toolkit.telemetry.enabled": "false",
    "app.normandy.enabled": "false",
    "dom.max_script_run_time": "0",
}


def make_handler(bundles, reports):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            folders = {"bundles": bundles, "damaged": bundles, "tests": CHECKOUT / "tests", "rlxgpu": CHECKOUT / "rlxgpu"}
            first, _, rest = self.path.split("?")[0].lstrip("/").partition("/")
            path = folders.get(first, bundles) / rest
            if first not in folders or ".." in rest or not path.is_file():
                self.send_error(404)
                return
            content = bytearray(path.read_bytes())
            if first == "damaged" and path.name == "main.json":
                content[len(content) // 2] ^= 1
            self.send_response(200)
            self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            reports.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    return Handler


def start(browser, profile, url):
    environment = dict(os.environ, HOME=profile, XDG_RUNTIME_DIR=profile)
    if browser == "chromium":
        command = ["chromium", "--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
                   f"--user-data-dir={profile}", url]
    else:
        lines = [f'user_pref("{name}", {value});\n' for name, value in PREFERENCES.items()]
        pathlib.Path(profile, "user.js").write_text("".join(lines))
        environment.update(MOZ_DISABLE_CONTENT_SANDBOX="1", MOZ_DISABLE_GPU_SANDBOX="1", MOZ_HEADLESS="1",
                           VK_ICD_FILENAMES=os.environ["RLXGPU_LAVAPIPE_ICD"])
        command = ["firefox-esr", "--headless", "--no-remote", "-profile", profile, url]
    log = open(os.path.join(profile, "log"), "w")
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def main():
    browser, bundles, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 120
    reports = queue.Queue()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make_handler(bundles, reports))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = tempfile.mkdtemp(prefix="browser.")
    process = start(browser, profile, f"http://127.0.0.1:{server.server_address[1]}/tests/web/page.html")
    failed = passed = 0
    try:
        while (line := reports.get(timeout=seconds)) != "done":
            kind, _, rest = line.partition("ok ")
            print(f"{kind}ok {browser}: {rest}", flush=True)
            failed, passed = failed + bool(kind), passed + (not kind)
    except queue.Empty:
        print(f"not ok {browser}: nothing was heard of the page for {seconds:.0f} s")
        print(pathlib.Path(profile, "log").read_text()[-2000:], file=sys.stderr)
        failed += 1
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

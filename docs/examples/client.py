"""Launches a command through `host serve`, waits for its end, prints what it printed, and exits with its status.

python3 client.py COMMAND [ARG...]                               (docs/routes.md, docs/openapi.json)
"""
import http.client, json, os, socket, sys, uuid

STATE = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # macOS: ~/Library/Application Support/relay-host/state
SOCKET = os.environ.get("HOST_SOCKET") or STATE + "/relay-host/host.sock"

class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.connect(SOCKET)
        except (FileNotFoundError, ConnectionRefusedError):
            sys.exit("client.py: error: no host runs on %s: host serve" % SOCKET)

def request(method, path, body=None, headers={}):
    """The answer, once its header is there; a refusal is an error in the host's own words."""
    connection = Connection("host")
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    if answer.status >= 300:
        text = answer.read()
        sys.exit("client.py: error: %d %s" % (answer.status, text and json.loads(text)["message"]))
    return answer

def lines(answer):
    try:
        yield from answer
    except (http.client.HTTPException, OSError):
        pass  # it broke off

def events(last=None):
    """Every event after the one of that id, over new connections where one breaks off."""
    while True:
        answer, field = request("GET", "/events", None, {"Last-Event-ID": last} if last else {}), {}
        for line in lines(answer):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                field[name] = value
                continue
            last = field.get("id", last)
            if "id" in field:
                yield field.get("event"), json.loads(field.get("data", "{}"))  # one without a name: connected
            if field.get("event") == "launch" and os.environ.pop("BREAK", ""):
                break  # for trying it
            field = {}
        answer.close()

if len(sys.argv) < 2:
    sys.exit("usage: python3 client.py COMMAND [ARG...]")
session = str(uuid.uuid4())
for name, data in events():
    if name is None:
        request("POST", "/launch", {"v": 1, "session_id": session, "kind": "pi", "directory": os.getcwd(), "argv": sys.argv[1:], "sandbox": {}})
    elif name == "end" and data["session_id"] == session or \
            name == "reset" and json.load(request("GET", "/sessions/" + session))["state"] == "ended":
        break
sys.stdout.buffer.write(request("GET", "/sessions/%s/log" % session).read())
sys.exit(json.load(request("GET", "/sessions/" + session))["exit_status"])

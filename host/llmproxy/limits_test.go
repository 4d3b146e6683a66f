package llmproxy

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestA01Allow(t *testing.T) {
	for _, c := range []struct {
		limits         Limits
		method, target string
		want           bool
	}{
		{Limits{}, "DELETE", "/any//thing?x", true},
		{Limits{Methods: []string{"GET", "POST"}}, "POST", "/", true},
		{Limits{Methods: []string{"GET"}}, "HEAD", "/", false},
		{Limits{Methods: []string{"GET"}}, "get", "/", false},
		{Limits{Methods: []string{}}, "GET", "/", false},
		{Limits{Paths: []string{}}, "GET", "/", false},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1/messages?beta=true", true},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1/%6dessages", true},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1/messages/", false},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1%2fmessages", false},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1%2Fmessages", false},
		{Limits{Paths: []string{"/a.b"}}, "POST", "/a%2eb", false},
		{Limits{Paths: []string{"/v1/*"}}, "POST", "/v1/a%2fb", false},
		{Limits{Paths: []string{"/v1/*"}}, "POST", "/v1/a%5cb", false},
		{Limits{}, "POST", "/v1%2fmessages", true},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1/messages/count_tokens", false},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/v1//messages", false},
		{Limits{Paths: []string{"/v1/messages"}}, "POST", "/V1/messages", false},
		{Limits{Paths: []string{"/a", "/me/repo.git/*"}}, "GET", "/me/repo.git/info/refs?service=git-upload-pack", true},
		{Limits{Paths: []string{"/me/repo.git/*"}}, "GET", "/me/repo.git/", true},
		{Limits{Paths: []string{"/me/repo.git/*"}}, "GET", "/me/repo.git", false},
		{Limits{Paths: []string{"/me/repo.git/*"}}, "GET", "/me/repo.gitx/a", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me/%252e%252e/you", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me//you", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me/./you", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me/.", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me/%5c..%5cyou", false},
		{Limits{Paths: []string{"/me/*"}}, "GET", "/me/a;..", false},
		{Limits{Paths: []string{"/v1beta/models/gemini-*"}}, "POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", true},
	} {
		if got := c.limits.allow(c.method, c.target, nil); got != c.want {
			t.Errorf("%+v: %s %s: %v", c.limits, c.method, c.target, got)
		}
	}
}

// A session that may fetch cannot push, and no spelling of another repository passes for its own.
func TestA04Paths(t *testing.T) {
	fetch, push := []string{"fetch:/team/app.git"}, []string{"push:/team/app.git"}
	below, api := []string{"fetch:/team/*"}, []string{"/api/*"}
	const up, receive = "/info/refs?service=git-upload-pack", "/info/refs?service=git-receive-pack"
	for _, c := range []struct {
		paths          []string
		method, target string
		want           bool
	}{
		{fetch, "GET", "/team/app.git" + up, true},
		{fetch, "POST", "/team/app.git/git-upload-pack", true},
		{fetch, "GET", "/team/app.git" + receive, false},
		{fetch, "POST", "/team/app.git/git-receive-pack", false},
		{push, "GET", "/team/app.git" + up, true},
		{push, "POST", "/team/app.git/git-upload-pack", true},
		{push, "GET", "/team/app.git" + receive, true},
		{push, "POST", "/team/app.git/git-receive-pack", true},
		{push, "POST", "/team/other.git/git-receive-pack", false},
		{push, "POST", "/team/app/git-receive-pack", false},
		{push, "POST", "/team/APP.git/git-receive-pack", false},

		// what git does not send, a server may read as it likes
		{push, "POST", "/team/app.git" + receive, false},
		{push, "HEAD", "/team/app.git" + up, false},
		{push, "GET", "/team/app.git/git-receive-pack", false},
		{push, "POST", "/team/app.git/git-receive-pack?x", false},
		{push, "POST", "/team/app.git/git-receive-pack/", false},
		{fetch, "GET", "/team/app.git/info/refs", false}, // the protocol without a program: not judged, so not open
		{fetch, "GET", "/team/app.git/HEAD", false},
		{fetch, "GET", "/team/app.git/objects/info/packs", false},
		{fetch, "GET", "/team/app.git" + up + "&service=git-receive-pack", false},
		{fetch, "GET", "/team/app.git/info/refs?service=git-receive-pack&service=git-upload-pack", false},
		{fetch, "GET", "/team/app.git/info/refs?x=1&service=git-upload-pack", false},
		{fetch, "GET", "/team/app.git/info/refs?service=git%2dupload-pack", false},
		{fetch, "GET", "/team/app.git/info/refs?", false},

		// the way to another repository
		{below, "GET", "/team/a/b.git" + up, true},
		{below, "GET", "/team/../you/b.git" + up, false},
		{below, "GET", "/team/%2e%2e/you/b.git" + up, false},
		{below, "GET", "/team/..%2fyou/b.git" + up, false},
		{below, "GET", "/team/%252e%252e/you/b.git" + up, false},
		{below, "GET", "/team/a%5c..%5c..%5cyou/b.git" + up, false},
		{below, "GET", "/team//b.git" + up, false},
		{below, "GET", "/team/./b.git" + up, false},
		{below, "GET", "/team/a;/b.git" + up, false},
		{fetch, "GET", "//team/app.git" + up, false},
		{fetch, "GET", "/team%2fapp.git" + up, false},
		{fetch, "GET", "/team/app%2egit" + up, false},
		{fetch, "GET", "/team/%61pp.git" + up, true},
		{fetch, "GET", "/you/b.git/info/refs/team/app.git" + up, false},

		// an entry for paths is none for a push, however wide
		{api, "GET", "/api/v4/projects?x=1", true},
		{api, "POST", "/api/x.git/git-upload-pack", true},
		{api, "POST", "/api/x.git/git-receive-pack", false},
		{api, "POST", "/api/x.git/GIT-Receive-Pack", false},
		{api, "POST", "/api/x.git/git%2dreceive%2dpack", false},
		{api, "GET", "/api/x.git" + receive, false},
		{api, "GET", "/api/x.git/info/refs?service=git-receive%2dpack", false},
		{nil, "POST", "/any.git/git-receive-pack", true},
		{[]string{}, "GET", "/team/app.git" + up, false},
	} {
		l := Limits{Paths: c.paths}
		path, _ := splitTarget(c.target)
		if got := pathAllowed(path) && l.allow(c.method, c.target, nil); got != c.want {
			t.Errorf("%q: %s %s: %v", c.paths, c.method, c.target, got)
		}
	}
}

// A header that stands for another method or path says nothing where one of these is limited.
func TestA01Override(t *testing.T) {
	for _, name := range []string{"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "X_HTTP_Method-Override"} {
		h := http.Header{http.CanonicalHeaderKey(name): {"DELETE"}}
		if (Limits{Methods: []string{"POST"}}).allow("POST", "/", h) || !(Limits{Paths: []string{"/"}}).allow("POST", "/", h) {
			t.Error(name)
		}
	}
	for _, name := range []string{"X-Original-URL", "X-Rewrite-Url", "x_rewrite_url"} {
		h := http.Header{http.CanonicalHeaderKey(name): {"/you"}}
		if (Limits{Paths: []string{"/*"}}).allow("POST", "/", h) || !(Limits{Methods: []string{"POST"}}).allow("POST", "/", h) {
			t.Error(name)
		}
	}
}

func TestA04Refusal(t *testing.T) {
	for _, target := range []string{"/a//b.git/git-receive-pack", "/a%2fb.git/git-receive-pack", "/a/b.git/git-receive-pack?"} {
		if no := (Limits{}).refuse("git", "POST", target, nil); strings.Contains(no.message, "add") {
			t.Errorf("%s: %s", target, no.message)
		}
	}
	for want, no := range map[string]*refusal{
		`the paths and methods of service "git" do not allow this: add "push:/a/b.git" to its paths, llm_proxy.services.git in settings.json`: Limits{}.refuse("git", "POST", "/a/b.git/git-receive-pack", nil),
		`the paths and methods of service "git" do not allow this`:                                                                            Limits{}.refuse("git", "GET", "/a", nil),
		refuseLimited.message: Limits{}.refuse("", "GET", "/a", nil),
		`the session may not use service "git": add it to "services" of template "t"`:            refuseService("git", "t"),
		`the session may not use service "git": only the launch of a template that names it may`: refuseService("git", ""),
	} {
		if no.message != want || no.status != 403 {
			t.Errorf("%+v, want %s", no, want)
		}
	}
}

// FuzzLimits: a push passes only by an entry that begins so, and names its repository as the request does.
func FuzzLimits(f *testing.F) {
	for _, s := range []string{"/team/app.git/git-receive-pack", "/team/app.git/info/refs?service=git-receive-pack", "/team/x/../app.git/git-receive-pack", "/you%2f../team/app.git/git-receive-pack"} {
		f.Add("POST", s)
		f.Add("GET", s)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		wide := Limits{Paths: []string{"fetch:/*", "/*"}}
		if decoded := strings.ToLower(unescapeGood(target)); strings.Contains(decoded, "git-receive-pack") && wide.allow(method, target, nil) {
			t.Errorf("%s %s is a push", method, target)
		}
		own := Limits{Paths: []string{"push:/team/app.git"}}
		if !own.allow(method, target, nil) {
			return
		}
		path, query := splitTarget(target)
		if !slices.Contains([]string{"/info/refs", "/git-upload-pack", "/git-receive-pack"}, strings.TrimPrefix(unescapeGood(path), "/team/app.git")) || len(query) > 25 {
			t.Errorf("%s %s is not of the repository", method, target)
		}
	})
}

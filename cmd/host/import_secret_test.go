package main

import "testing"

func TestU01SecretJSON(t *testing.T) {
	for text, want := range map[string]bool{
		`"vi"`:                                  false,
		`["-y", "server", "/home/ann/project"]`: false,
		`{"LOG": "1", "port": 8080}`:            false,
		`"https://example.com/path?x=1"`:        false,
		`["postgresql://ann:pw@db/prod"]`:       true,
		`["--figma-api-key=figd_x"]`:            true,
		`["--access-token", "sbp_x"]`:           true,
		`["-e", "GITLAB_TOKEN=abc"]`:            true,
		`"http://u:pw@proxy"`:                   true,
		`{"x": {"apiKey": "abc"}}`:              true,
		`{"x": [{"clientSecret": "abc"}]}`:      true,
		`"ghp_aaaaaaaaaaaaaaaaaaaa"`:            true,
		`not JSON`:                              true,
	} {
		if got := secretJSON([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{`"${TOKEN}"`: true, `"${A}ghp_aaaaaaaaaaaa${B}"`: false, `"${A:-x}"`: false, `"x"`: false} {
		if got := reference(text); got != want {
			t.Errorf("reference %s: %v", text, got)
		}
	}
}

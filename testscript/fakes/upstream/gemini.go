package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini answers /v1beta/models/MODEL:METHOD as Google's API does.
func gemini(w http.ResponseWriter, r *http.Request, in seen) {
	_, rest, _ := strings.Cut(r.URL.Path, "/models/")
	model, method, ok := strings.Cut(rest, ":")
	type part struct {
		Text             string
		FunctionResponse *struct{ Response json.RawMessage } `json:"functionResponse"`
	}
	var req struct {
		Contents         []struct{ Parts []part }
		GenerationConfig struct {
			ResponseMIMEType string `json:"responseMimeType"`
		} `json:"generationConfig"`
		Tools []struct {
			FunctionDeclarations []struct{ Name string } `json:"functionDeclarations"`
		}
	}
	if !ok || json.Unmarshal(in.text, &req) != nil {
		http.NotFound(w, r)
		return
	}
	if method == "countTokens" {
		sendJSON(w, map[string]int{"totalTokens": 7})
		return
	}
	a := asked{}
	for _, t := range req.Tools {
		for _, f := range t.FunctionDeclarations {
			a.tools = append(a.tools, f.Name)
		}
	}
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				var said struct{ Output string }
				json.Unmarshal(p.FunctionResponse.Response, &said)
				a.said, a.ran = said.Output, true
			}
		}
	}
	said := replyTo(a)
	if req.GenerationConfig.ResponseMIMEType == "application/json" {
		said = reply{text: `{"complexity_reasoning": "easy", "complexity_score": 1}`} // it asks which model to ask
	}
	content := map[string]any{"text": said.text}
	if said.tool != "" {
		content = map[string]any{"functionCall": map[string]any{"id": "call_1", "name": said.tool, "args": said.input}}
	}
	answer := map[string]any{"modelVersion": model,
		"candidates":    []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": []any{content}}}},
		"usageMetadata": map[string]int{"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}}
	if method == "streamGenerateContent" {
		sendEvent(w, "", answer)
		return
	}
	sendJSON(w, answer)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A request of the Messages API, as far as the fake looks.
type messagesRequest struct {
	Model    string
	Stream   bool
	Tools    []struct{ Name string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

type block struct {
	Type, Text string
	ToolUseID  string `json:"tool_use_id"`
	Content    json.RawMessage
}

// messages answers /v1/messages well enough for a real client: the text of -answer, or first a call of the Bash
// tool with -bash's command, and then `tool said: …` before the text.
func messages(w http.ResponseWriter, request *http.Request, in seen) {
	var req messagesRequest
	if request.URL.Path == "/v1/messages/count_tokens" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"input_tokens":7}`)
		return
	}
	if request.URL.Path != "/v1/messages" || request.Method != http.MethodPost || json.Unmarshal(in.text, &req) != nil {
		http.NotFound(w, request)
		return
	}
	a := asked{}
	for _, t := range req.Tools {
		a.tools = append(a.tools, t.Name)
	}
	a.said, a.ran = toolResult(req)
	r := replyTo(a)
	content, reason := map[string]any{"type": "text", "text": r.text}, "end_turn"
	if r.tool != "" {
		content, reason = map[string]any{"type": "tool_use", "id": "toolu_1", "name": r.tool, "input": r.input}, "tool_use"
	}
	if req.Stream {
		streamMessage(w, req.Model, content, reason)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(message(req.Model, []any{content}, reason))
}

// toolResult is what the Bash tool printed, if the last message brings it.
func toolResult(req messagesRequest) (string, bool) {
	if len(req.Messages) == 0 {
		return "", false
	}
	var blocks []block
	json.Unmarshal(req.Messages[len(req.Messages)-1].Content, &blocks)
	for _, b := range blocks {
		if b.Type != "tool_result" {
			continue
		}
		var text string
		if json.Unmarshal(b.Content, &text) == nil {
			return text, true
		}
		var parts []block
		json.Unmarshal(b.Content, &parts)
		for _, p := range parts {
			text += p.Text
		}
		return text, true
	}
	return "", false
}

func message(model string, content []any, reason any) map[string]any {
	return map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 7, "output_tokens": 5}}
}

func streamMessage(w http.ResponseWriter, model string, content map[string]any, reason string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, members map[string]any) {
		members["type"] = kind
		data, _ := json.Marshal(members)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		w.(http.Flusher).Flush()
	}
	send("message_start", map[string]any{"message": message(model, []any{}, nil)})
	if content["type"] == "text" {
		send("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
		for _, part := range strings.SplitAfter(content["text"].(string), " ") {
			send("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": part}})
		}
	} else {
		input, _ := json.Marshal(content["input"])
		content["input"] = map[string]any{}
		send("content_block_start", map[string]any{"index": 0, "content_block": content})
		send("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "input_json_delta", "partial_json": string(input)}})
	}
	send("content_block_stop", map[string]any{"index": 0})
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]int{"output_tokens": 5}})
	send("message_stop", map[string]any{})
}

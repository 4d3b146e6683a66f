package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// chat answers /v1/chat/completions, the older of OpenAI's two protocols.
func chat(w http.ResponseWriter, in seen) {
	var req struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function struct{ Name string } }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if json.Unmarshal(in.text, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a := asked{}
	for _, t := range req.Tools {
		a.tools = append(a.tools, t.Function.Name)
	}
	for _, m := range req.Messages {
		if m.Role == "tool" {
			a.said, a.ran = textOf(m.Content), true
		}
	}
	r, reason := replyTo(a), "stop"
	message := map[string]any{"role": "assistant", "content": r.text}
	if r.tool != "" {
		input, _ := json.Marshal(r.input)
		reason, message["content"] = "tool_calls", nil
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": "call_1", "type": "function",
			"function": map[string]any{"name": r.tool, "arguments": string(input)}}}
	}
	usage := map[string]int{"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
	answer := func(kind, part string, content any, reason any) map[string]any {
		return map[string]any{"id": "chatcmpl-1", "object": kind, "created": 1, "model": req.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, part: content, "finish_reason": reason}}}
	}
	if !req.Stream {
		sendJSON(w, answer("chat.completion", "message", message, reason))
		return
	}
	const chunk = "chat.completion.chunk"
	sendEvent(w, "", answer(chunk, "delta", message, nil))
	sendEvent(w, "", answer(chunk, "delta", map[string]any{}, reason))
	io.WriteString(w, "data: [DONE]\n\n")
}

// responsesTool is a tool of a request, or a group of them.
type responsesTool struct {
	Name  string
	Tools []responsesTool
}

func toolNames(tools []responsesTool) (names []string) {
	for _, t := range tools {
		names = append(append(names, t.Name), toolNames(t.Tools)...)
	}
	return names
}

// responses answers /v1/responses, the newer one.
func responses(w http.ResponseWriter, in seen) {
	var req struct {
		Model  string
		Stream bool
		Tools  []responsesTool
		Input  json.RawMessage
	}
	if json.Unmarshal(in.text, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a := asked{tools: toolNames(req.Tools)}
	var input []struct {
		Type   string
		Output json.RawMessage
		Tools  []responsesTool
	}
	json.Unmarshal(req.Input, &input)
	for _, item := range input {
		a.tools = append(a.tools, toolNames(item.Tools)...)
		if item.Type == "function_call_output" || item.Type == "custom_tool_call_output" {
			a.said, a.ran = textOf(item.Output), true
		}
	}
	r := replyTo(a)
	item := responseItem(r)
	response := func(status string, output ...any) map[string]any {
		return map[string]any{"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": req.Model, "output": output,
			"usage": map[string]any{"input_tokens": 7, "output_tokens": 5, "total_tokens": 12,
				"input_tokens_details":  map[string]int{"cached_tokens": 0},
				"output_tokens_details": map[string]int{"reasoning_tokens": 0}}}
	}
	if !req.Stream {
		sendJSON(w, response("completed", item))
		return
	}
	send := func(kind string, members map[string]any) {
		members["type"] = kind
		sendEvent(w, kind, members)
	}
	send("response.created", map[string]any{"response": response("in_progress")})
	send("response.output_item.added", map[string]any{"output_index": 0, "item": item})
	if r.tool == "" {
		at := map[string]any{"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": r.text}
		send("response.output_text.delta", at)
	}
	send("response.output_item.done", map[string]any{"output_index": 0, "item": item})
	send("response.completed", map[string]any{"response": response("completed", item)})
}

// responseItem is a reply as an item of the answer.
func responseItem(r reply) map[string]any {
	if r.tool == "" {
		return map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": r.text, "annotations": []any{}}}}
	}
	if script, ok := r.input["script"]; ok {
		return map[string]any{"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_1", "name": r.tool, "input": script}
	}
	arguments, _ := json.Marshal(r.input)
	return map[string]any{"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": r.tool, "arguments": string(arguments)}
}

// textOf is a text that is written as one or as a list of parts.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	json.Unmarshal(raw, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}

func sendJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// sendEvent sends one server-sent event; kind may be "".
func sendEvent(w http.ResponseWriter, kind string, data any) {
	w.Header().Set("Content-Type", "text/event-stream")
	text, _ := json.Marshal(data)
	if kind != "" {
		fmt.Fprintf(w, "event: %s\n", kind)
	}
	fmt.Fprintf(w, "data: %s\n\n", text)
	w.(http.Flusher).Flush()
}

// models answers what clients look up before they ask: which models there are.
func models(w http.ResponseWriter, path string) {
	name := strings.TrimPrefix(strings.TrimPrefix(path, "/v1/models"), "/")
	if name == "" {
		sendJSON(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "test-model", "object": "model"}}})
		return
	}
	sendJSON(w, map[string]any{"id": name, "object": "model"})
}

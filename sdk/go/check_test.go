package sluice_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"sluice.dev/go"
)

func TestChecksAsAnAgentReadsThem(t *testing.T) {
	for text, check := range map[string]sluice.Check{
		`{"resource":"GET:/orders","subject":"user:42"}`:            {Resource: "GET:/orders", Subject: "user:42"},
		`{"subject":"a","cost":0}`:                                  {Subject: "a", Cost: sluice.Cost(0)},
		`{"subject":"a","costs":{"tokens":5}}`:                      {Subject: "a", Costs: map[string]int64{"tokens": 5}},
		`{"subject":"a","wait":"2s"}`:                               {Subject: "a", Wait: 2 * time.Second},
		`{"subject":"a","wait":"1500ms"}`:                           {Subject: "a", Wait: 1500 * time.Millisecond},
		`{"subject":"a","limit_override":{"burst":5}}`:              {Subject: "a", LimitOverride: map[string]int64{"burst": 5}},
		`{"subject":"a","new_field":true,"wait":"30s"}`:             {Subject: "a", Wait: 30 * time.Second, Extra: map[string]any{"new_field": true}},
		`{"new_field":"only"}`:                                      {Extra: map[string]any{"new_field": "only"}},
		`{}`:                                                        {},
		`{"subject":"a","tags":{"x":"y"},"explain":true}`:           {Subject: "a", Tags: map[string]string{"x": "y"}, Explain: true},
		`{"topic":"t","consumer_group":"g","attributes":{"k":"v"}}`: {Topic: "t", ConsumerGroup: "g", Attributes: map[string]string{"k": "v"}},
	} {
		written, err := json.Marshal(check)
		if err != nil || string(written) != text {
			t.Errorf("%s %v, not %s", written, err, text)
		}
		var read sluice.Check
		if err := json.Unmarshal([]byte(text), &read); err != nil || !reflect.DeepEqual(read, check) {
			t.Errorf("%s: %v %+v", text, err, read)
		}
	}
	// A wait below a millisecond is rounded up, and NoWait is sent.
	for wait, want := range map[time.Duration]string{time.Microsecond: `{"wait":"1ms"}`, sluice.NoWait: `{"wait":"0ms"}`} {
		if written, err := json.Marshal(sluice.Check{Wait: wait}); err != nil || string(written) != want {
			t.Errorf("%s %v", written, err)
		}
	}
	var read sluice.Check
	if err := json.Unmarshal([]byte(`{"wait":0}`), &read); err != nil || read.Wait != sluice.NoWait {
		t.Errorf("%v %+v", err, read)
	}
}

//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
)

// samples are what one side of a comparison measured, in the unit of the row.
type samples []float64

// quantile by nearest rank; NaN without samples.
func (s samples) quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (s samples) median() float64 { return s.quantile(0.5) }

// work is what a program and its children used: processor time in µs, page faults, and how often they gave up a processor.
type work struct{ cpu, faults, switches samples }

// side is one side of a comparison.
type side struct {
	name string
	once func() (float64, error) // does it once and says what that measured
	got  samples
	used work // of the measured rounds, where once notes it
}

// interleave measures the sides in turn, A B A B, so that whatever else the machine does meets all of them alike.
// The first rounds are thrown away: they find cold caches.
func interleave(rounds int, sides ...*side) error {
	warm := max(1, rounds/20)
	for i := range warm + rounds {
		if i == warm {
			for _, s := range sides {
				s.used = work{}
			}
		}
		for _, s := range sides {
			v, err := s.once()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if i >= warm {
				s.got = append(s.got, v)
			}
		}
	}
	return nil
}

package server

import "context"

// input types p, or feeds it to a target on pipes; eof then closes its standard input.
func (s *session) input(p []byte, eof bool) error {
	s.touch()
	s.answered()
	if len(p) > 0 {
		if err := s.streams.write(p); err != nil {
			return err
		}
	}
	if eof {
		return s.streams.endInput()
	}
	return nil
}

// resize sets the terminal's size.
func (s *session) resize(cols, rows int) error {
	if err := s.streams.resize(cols, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Cols, s.shown.Rows = cols, rows
	return nil
}

// follow writes what r has yet to read to w, until the session ends.
func follow(ctx context.Context, r *reader, w func([]byte) error) error {
	buf := make([]byte, 16<<10)
	for {
		n, done, err := r.next(buf)
		if err != nil {
			return err
		}
		if n > 0 {
			if err := w(buf[:n]); err != nil {
				return err
			}
			continue
		}
		if done {
			return nil
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

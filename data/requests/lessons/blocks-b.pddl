(define (problem four-blocks) (:domain blocksworld)
  (:objects b1 b2 b3 b4)
  (:init (holding b3) (on-table b1) (on b4 b1) (clear b4) (on-table b2) (clear b2))
  (:goal (clear b2)))

; Five blocks in two towers. The lower blocks b2 and b3 both have to go through the table or another
; tower, and b2 may stand on the table only after b3 has stood there: the safe stacking order.
; A plan made without the constraint puts b2 down first.
(define (problem tower-order)
  (:domain blocksworld)
  (:objects b1 b2 b3 b4 b5)
  (:init
    (arm-empty)
    (on-table b1) (on b2 b1) (clear b2)
    (on-table b4) (on b3 b4) (on b5 b3) (clear b5))
  (:goal (and (on b1 b4) (on b4 b3)))
  (:constraints
    (sometime-before (on-table b2) (on-table b3))))

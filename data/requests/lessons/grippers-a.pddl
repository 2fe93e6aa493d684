(define (problem four-balls) (:domain gripper-strips)
  (:objects robot1 robot2 - robot room1 room2 room3 - room ball1 ball2 ball3 ball4 - object
            lgripper1 rgripper1 lgripper2 rgripper2 - gripper)
  (:init (at-robby robot1 room3) (at-robby robot2 room3)
         (free robot1 lgripper1) (free robot1 rgripper1) (carry robot2 ball4 lgripper2) (free robot2 rgripper2)
         (at ball1 room2) (at ball2 room1) (at ball3 room1))
  (:goal (at ball1 room3)))

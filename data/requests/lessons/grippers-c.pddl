(define (problem four-rooms) (:domain gripper-strips)
  (:objects robot1 robot2 - robot room1 room2 room3 room4 - room ball1 ball2 ball3 ball4 - object
            lgripper1 rgripper1 lgripper2 rgripper2 - gripper)
  (:init (at-robby robot1 room1) (at-robby robot2 room4) (free robot1 lgripper1) (free robot1 rgripper1)
         (free robot2 lgripper2) (free robot2 rgripper2) (at ball1 room2) (at ball2 room2) (at ball3
         room3) (at ball4 room4))
  (:goal (at ball1 room1)))

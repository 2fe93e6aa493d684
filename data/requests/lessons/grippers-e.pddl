(define (problem two-apart) (:domain gripper-strips)
  (:objects robot1 robot2 - robot room1 room2 - room ball1 ball2 ball3 - object
            lgripper1 rgripper1 lgripper2 rgripper2 - gripper)
  (:init (at-robby robot1 room1) (at-robby robot2 room2) (free robot1 lgripper1) (carry robot1 ball2
         rgripper1) (free robot2 lgripper2) (free robot2 rgripper2) (at ball1 room1) (at ball3 room2))
  (:goal (at ball1 room1)))

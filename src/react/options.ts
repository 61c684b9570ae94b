/** The numbers that the components are tuned with. */

/** The time that the button of a holder asks for. */
export const POSTPONE = '2m'
/** Of more people, the rest is a number. */
export const MAX_SHOWN_PEOPLE = 5
/** How many equal lines are shown around a difference. */
export const CONTEXT_LINES = 2

/** How many colours avatars have: as many as the styles define. */
export const AVATAR_COLOURS = 8
/** A shorter time is shown in seconds, a longer one in minutes. */
export const SECONDS_SHOWN = 120

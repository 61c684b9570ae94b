/** A run is repeated this often to find a smaller plan that still fails. */
const MOST_RUNS = 400

/** The smallest plan that was found which still fails: the first smaller one that does, again and again. */
export async function shrink<Plan>(
  plan: Plan,
  smallerPlans: (plan: Plan) => Iterable<Plan>,
  fails: (plan: Plan) => Promise<boolean>,
): Promise<Plan> {
  let smallest = plan
  let runs = 0
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const candidate of smallerPlans(smallest)) {
      if (++runs > MOST_RUNS) return smallest
      if (!(await fails(candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return smallest
}

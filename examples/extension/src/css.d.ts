/** The build makes a style sheet that a script imports a text. */
declare module '*.css' {
  const text: string
  export default text
}

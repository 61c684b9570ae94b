const IN_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a file is where a folder should be',
  EEXIST: 'a file is where a folder should be',
  EISDIR: 'this is a folder, not a file',
  EACCES: 'you may not read or write it',
}

/** What is wrong with a file that the user named. */
export function fileProblem(path: string, error: unknown): string {
  const { code = '', message = String(error) } = Object(error) as Partial<NodeJS.ErrnoException>
  return `${path}: ${IN_WORDS[code] ?? message}`
}

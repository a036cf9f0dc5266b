//! The folder `manifests/`: the objects of a bundle.

use serde_json::Value;

use super::{FileTree, Object, Warning, text_at};
use crate::yaml;

/// The objects in a folder, one of each file. Hidden files and folders in it do not count.
pub(super) fn read(tree: &FileTree, folder: &str, warnings: &mut Vec<Warning>) -> Vec<Object> {
    let mut objects = Vec::new();
    for (path, content) in tree.range(folder.to_owned()..) {
        let Some(name) = path.strip_prefix(folder) else {
            break;
        };
        if name.contains('/') || name.starts_with('.') {
            continue;
        }
        let Some(value) = first_document(path, content, warnings) else {
            continue;
        };
        match why_no_object(&value) {
            None => objects.push(Object {
                file: path.clone(),
                value,
            }),
            Some(problem) => warnings.push(Warning::new(path, problem)),
        }
    }
    objects
}

/// The first document of a file. What cannot be read, and further documents, are warned of.
pub(super) fn first_document(
    path: &str,
    content: &[u8],
    warnings: &mut Vec<Warning>,
) -> Option<Value> {
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => {
            let before = content.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.split(|&byte| byte == b'\n').count();
            warnings.push(Warning::at(path, line, "is ignored: expected UTF-8"));
            return None;
        }
    };
    let mut documents = yaml::documents(path, text);
    let first = match documents.next() {
        None => {
            warnings.push(Warning::new(path, "is ignored: it is empty"));
            return None;
        }
        Some(Err(error)) => {
            warnings.push(Warning::of_yaml(path, &error));
            return None;
        }
        Some(Ok(first)) => first,
    };
    if let Some(Ok(second)) = documents.next() {
        let problem = "this document and all behind it are ignored: only the first document of a \
                       file counts";
        warnings.push(Warning::at(path, second.line(), problem));
    }
    Some(first.into_value())
}

fn why_no_object(value: &Value) -> Option<&'static str> {
    if text_at(value, "/kind").is_empty() {
        return Some("is ignored: expected a Kubernetes object with a `kind`");
    }
    if text_at(value, "/apiVersion").matches('/').count() > 1 {
        return Some("is ignored: expected an `apiVersion` such as `group/version`");
    }
    None
}
